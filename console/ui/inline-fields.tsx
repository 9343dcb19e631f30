// Fields that save by themselves: text with Enter or when the focus leaves it, a choice at once.
import { useRef, type ComponentProps } from "react";
import { fieldError } from "../messages/field-error.ts";
import type { Option } from "./option.ts";
import { SelectField } from "./select-field.tsx";
import { TextField } from "./text-field.tsx";
import { useInlineEdit } from "./use-inline-edit.ts";

type Inline<Value> = {
  readonly label: string;
  readonly name: string;
  readonly saved: Value;
  readonly save: (value: Value) => Promise<unknown>;
  readonly disabled: boolean;
};

/** Text; Escape discards what was typed. */
export function InlineText({
  label,
  name,
  saved,
  save,
  disabled,
  ...input
}: Inline<string> &
  Pick<ComponentProps<typeof TextField>, "type" | "inputMode" | "placeholder" | "hint">) {
  const { value, error, change, discard, refuse, commit } = useInlineEdit(saved, save);
  const finish = ({ validity }: HTMLInputElement) => {
    // A day without some of its parts has the value of a cleared one.
    if (validity.badInput) refuse("is incomplete: enter the day, the month and the year");
    else void commit(value);
  };
  return (
    <TextField
      {...input}
      label={label}
      name={name}
      error={error}
      disabled={disabled}
      value={value}
      onValueChange={change}
      onBlur={({ currentTarget }) => finish(currentTarget)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") finish(currentTarget);
        if (key !== "Escape") return;
        // React does not clear an incomplete day: its value is empty already.
        currentTarget.value = saved;
        discard();
      }}
    />
  );
}

/** One of the options, or none where there is a word for it. Arrow keys choose as they pass: it saves like text then. */
export function InlineSelect<Value extends string | number>({
  label,
  name,
  saved,
  save,
  disabled,
  options,
  none,
}: Inline<Value | null> & {
  readonly options: readonly Option<Value>[];
  readonly none?: string | undefined;
}) {
  const { value, error, change, commit } = useInlineEdit(saved, save);
  const byKey = useRef(false);
  const isUnsaved = useRef(false);
  const saveChoice = () => {
    if (isUnsaved.current) void commit(value);
    isUnsaved.current = false;
  };
  return (
    <SelectField
      label={label}
      name={name}
      error={error}
      disabled={disabled}
      options={options}
      value={value ?? ""}
      {...(none === undefined ? {} : { placeholder: none })}
      onPointerDown={() => {
        byKey.current = false;
      }}
      onKeyDown={({ key }) => {
        byKey.current = true;
        if (key === "Enter") saveChoice();
      }}
      onBlur={saveChoice}
      onChange={({ target }) => {
        const chosen = options.find((option) => String(option.value) === target.value);
        isUnsaved.current = byKey.current;
        if (byKey.current) change(chosen?.value ?? null);
        else void commit(chosen?.value ?? null);
      }}
    />
  );
}

/** Any number of the options. */
export function InlineChoices({
  label,
  name,
  saved,
  save,
  disabled,
  options,
}: Inline<readonly string[]> & { readonly options: readonly string[] }) {
  const { value, error, commit } = useInlineEdit(saved, save);
  return (
    <fieldset className="flex flex-col gap-1.5" disabled={disabled}>
      <legend className="mb-1.5 font-medium">{label}</legend>
      {options.map((option) => (
        <label key={option} className="flex items-center gap-2">
          <input
            type="checkbox"
            name={name}
            checked={value.includes(option)}
            onChange={({ target }) =>
              void commit(
                options.filter((each) => (each === option ? target.checked : value.includes(each))),
              )
            }
          />
          {option}
        </label>
      ))}
      {error && (
        <p role="alert" className="text-danger text-xs">
          {fieldError(label, error)}
        </p>
      )}
    </fieldset>
  );
}
