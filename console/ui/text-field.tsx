import { Field } from "@base-ui/react/field";
import type { ComponentProps } from "react";

/** A labelled input with the server's error under it. */
export function TextField({
  label,
  error,
  hint,
  name,
  ...input
}: ComponentProps<typeof Field.Control> & {
  readonly label: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly hint?: string;
}) {
  return (
    <Field.Root name={name} invalid={error !== undefined} className="flex flex-col gap-1.5">
      <Field.Label className="font-medium">{label}</Field.Label>
      <Field.Control
        {...input}
        className="border-line bg-panel data-invalid:border-danger h-9 rounded-lg border px-3"
      />
      {hint && <Field.Description className="text-muted text-xs">{hint}</Field.Description>}
      <Field.Error match={error !== undefined} className="text-danger text-xs">
        {error}
      </Field.Error>
    </Field.Root>
  );
}
