import { Field as Base } from "@base-ui/react/field";
import type { ComponentProps, ReactNode } from "react";
import { control_class, Field } from "./field.tsx";

/** The height of a line. */
const line_rem = 1.25;

type Labels = {
  readonly label: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly hint?: ReactNode;
};

/** Several lines of text, at least `rows`, and as many as it has up to half of the screen. */
export function TextAreaField({
  label,
  name,
  error,
  hint,
  rows = 4,
  ...input
}: ComponentProps<"textarea"> & Labels) {
  return (
    <Field label={label} name={name} error={error} hint={hint}>
      <Base.Control
        render={<textarea {...input} rows={rows} />}
        className={`${control_class} field-sizing-content max-h-[50vh] py-2`}
        style={{ minHeight: `${rows * line_rem + 1}rem` }}
      />
    </Field>
  );
}
