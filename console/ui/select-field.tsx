import { Field as Base } from "@base-ui/react/field";
import type { ComponentProps, ReactNode } from "react";
import { control_class, Field } from "./field.tsx";
import type { Option } from "./option.ts";

type Labels = {
  readonly label: string;
  readonly name: string;
  readonly error?: string | undefined;
  readonly hint?: ReactNode;
  readonly options: readonly Option[];
  /** What is shown while nothing is chosen. */
  readonly placeholder?: string;
};

/** A choice of the browser's own kind: it works with every keyboard, phone and screen reader. */
export function SelectField({
  label,
  name,
  error,
  hint,
  options,
  placeholder,
  ...select
}: ComponentProps<"select"> & Labels) {
  return (
    <Field label={label} name={name} error={error} hint={hint}>
      <Base.Control
        render={
          <select {...select}>
            {placeholder !== undefined && <option value="">{placeholder}</option>}
            {options.map(({ value, label: text }) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        }
        className={`${control_class} h-9`}
      />
    </Field>
  );
}
