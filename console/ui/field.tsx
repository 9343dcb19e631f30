import { Field as Base } from "@base-ui/react/field";
import type { ReactNode } from "react";
import { fieldError } from "../messages/field-error.ts";

export const control_class =
  "border-line bg-panel data-invalid:border-danger w-full rounded-lg border px-3";

/** What every control has: its label, a hint, and the server's error under it. */
export function Field({
  label,
  name,
  error,
  hint,
  children,
}: {
  readonly label: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly hint?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Base.Root name={name} invalid={error !== undefined} className="flex min-w-0 flex-col gap-1.5">
      <Base.Label className="font-medium">{label}</Base.Label>
      {children}
      {hint && <Base.Description className="text-muted text-xs">{hint}</Base.Description>}
      <Base.Error match={error !== undefined} className="text-danger text-xs">
        {error && fieldError(label, error)}
      </Base.Error>
    </Base.Root>
  );
}
