import { Field as Base } from "@base-ui/react/field";
import type { ComponentProps, ReactNode } from "react";
import { control_class, Field } from "./field.tsx";

type Labels = {
  readonly label: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly hint?: ReactNode;
};

/** A line of text, a number, a date: any `<input>`. */
export function TextField({
  label,
  name,
  error,
  hint,
  ...input
}: ComponentProps<typeof Base.Control> & Labels) {
  return (
    <Field label={label} name={name} error={error} hint={hint}>
      <Base.Control {...input} className={`${control_class} h-9`} />
    </Field>
  );
}
