import { useMutation } from "@tanstack/react-query";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";

type Item = { readonly id: number; readonly label: string };

/** What leads may still have and new ones cannot get; each can be restored. */
export function ArchivedList<One extends Item>({
  items,
  restore,
}: {
  readonly items: readonly One[];
  readonly restore: (item: One) => Promise<void>;
}) {
  const change = useMutation({ mutationFn: restore });
  if (items.length === 0) return null;
  return (
    <details>
      <summary className="text-muted cursor-pointer">Archived ({items.length})</summary>
      <ul className="mt-2 flex flex-col gap-1">
        {items.map((item) => (
          <li key={item.id} className="flex items-center justify-between gap-2">
            <span className="min-w-0 wrap-anywhere">{item.label}</span>
            <Button
              kind="quiet"
              aria-label={`Restore ${item.label}`}
              busy={change.isPending}
              onClick={() => change.mutate(item)}
            >
              Restore
            </Button>
          </li>
        ))}
      </ul>
      <FormError error={change.error} />
    </details>
  );
}
