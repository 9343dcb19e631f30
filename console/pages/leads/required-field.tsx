import type { UseFormRegisterReturn } from "react-hook-form";
import type { Row } from "../../api/answer.ts";
import { CheckList } from "../../ui/check-list.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { readNumber, yes_no } from "./custom-field.tsx";

type Field = Row<"listCustomFields">;

/** What the form has of a field; of one box instead of several, the browser's value or false. */
export type Entered = string | readonly string[] | false | undefined;

/** A custom field of a new lead, as its type is entered. */
export function RequiredField({
  field: { label, type, options },
  register,
  error,
}: {
  readonly field: Field;
  readonly register: UseFormRegisterReturn;
  readonly error: string | undefined;
}) {
  const shared = { ...register, label, error };
  const choices = options.map((option) => ({ value: option, label: option }));
  switch (type) {
    case "boolean":
      return <SelectField {...shared} placeholder="Not set" options={yes_no} />;
    case "select":
      return <SelectField {...shared} placeholder="Not set" options={choices} />;
    case "multiselect":
      return (
        <CheckList legend={label} count={options.length} error={error}>
          {options.map((option) => (
            <label key={option} className="flex items-center gap-2">
              <input type="checkbox" value={option} {...register} />
              {option}
            </label>
          ))}
        </CheckList>
      );
    default:
      return (
        <TextField
          {...shared}
          {...(type === "date" ? { type: "date" } : {})}
          {...(type === "number" ? { inputMode: "decimal" as const } : {})}
        />
      );
  }
}

/** Returns the values of the fields that have one, as the API takes them; it reports the others. */
export function customFieldsOf(
  fields: readonly Field[],
  entered: Readonly<Record<string, Entered>>,
): Record<string, unknown> {
  const values = fields.map(({ key, type }) => [key, valueOf(type, entered[key])] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function valueOf(type: Field["type"], entered: Entered): unknown {
  if (!entered || entered.length === 0) return undefined;
  if (type === "multiselect") return [entered].flat();
  if (type === "boolean") return entered === "true";
  return type === "number" ? (readNumber(entered as string) ?? undefined) : entered;
}
