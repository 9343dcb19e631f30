import { Field as Base } from "@base-ui/react/field";
import type { ComponentProps, ReactNode } from "react";
import { control_class, Field } from "./field.tsx";

type Labels = {
  readonly label: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly hint?: ReactNode;
};

/** Several lines of text. */
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
        className={`${control_class} py-2`}
      />
    </Field>
  );
}
