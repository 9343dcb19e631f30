import { Menu } from "@base-ui/react/menu";
import { Check, Columns3 } from "lucide-react";
import { buttonClass } from "./button.tsx";

/** Chooses the columns of a list. */
export function ColumnMenu({
  columns,
  hidden,
  onChange,
}: {
  readonly columns: readonly string[];
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}) {
  return (
    <Menu.Root>
      <Menu.Trigger className={buttonClass("plain")}>
        <Columns3 aria-hidden className="size-4" />
        Columns
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="end">
          <Menu.Popup className="border-line bg-panel flex min-w-48 flex-col rounded-xl border p-1 shadow-lg">
            {columns.map((column) => (
              <Menu.CheckboxItem
                key={column}
                className="data-highlighted:bg-hover flex items-center gap-2 rounded-md px-3 py-2 outline-none"
                checked={!hidden.has(column)}
                onCheckedChange={(shown) => {
                  const changed = new Set(hidden);
                  if (shown) changed.delete(column);
                  else changed.add(column);
                  onChange(changed);
                }}
              >
                <span className="size-4">
                  <Menu.CheckboxItemIndicator>
                    <Check aria-hidden className="size-4" />
                  </Menu.CheckboxItemIndicator>
                </span>
                {column}
              </Menu.CheckboxItem>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
