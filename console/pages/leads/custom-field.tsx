import type { Row } from "../../api/answer.ts";
import { InlineChoices, InlineSelect, InlineText } from "../../ui/inline-fields.tsx";
import type { Option } from "../../ui/option.ts";

export const yes_no: readonly Option<string>[] = [
  { value: "true", label: "Yes" },
  { value: "false", label: "No" },
];

/** A custom field of a lead, as its type is entered; empty clears it. */
export function CustomField({
  field: { key, label, type, options, required },
  saved,
  save,
  disabled,
}: {
  readonly field: Row<"listCustomFields">;
  readonly saved: unknown;
  readonly save: (value: unknown) => Promise<unknown>;
  readonly disabled: boolean;
}) {
  const shared = { label, name: `customFields.${key}`, disabled };
  // A lead from before the field was required may lack a value.
  const none = required && saved !== null ? undefined : "Not set";
  switch (type) {
    case "boolean":
      return (
        <InlineSelect
          {...shared}
          none={none}
          options={yes_no}
          saved={saved === null ? null : textOf(saved)}
          save={(value) => save(value === null ? null : value === "true")}
        />
      );
    case "select":
      return (
        <InlineSelect
          {...shared}
          none={none}
          options={withSaved(options, saved === null ? [] : [saved as string]).map((option) => ({
            value: option,
            label: option,
          }))}
          saved={saved as string | null}
          save={save}
        />
      );
    case "multiselect":
      return (
        <InlineChoices
          {...shared}
          options={withSaved(options, (saved ?? []) as readonly string[])}
          saved={(saved ?? []) as readonly string[]}
          save={(value) => save(value.length === 0 ? null : value)}
        />
      );
    default:
      return (
        <InlineText
          {...shared}
          {...(type === "date" ? { type: "date" } : {})}
          {...(type === "number" ? { inputMode: "decimal" as const } : {})}
          saved={saved === null ? "" : textOf(saved)}
          save={(text) => save(type === "number" ? readNumber(text) : text === "" ? null : text)}
        />
      );
  }
}

/** Adds the lead's own choices that were removed from the field. */
const withSaved = (options: readonly string[], saved: readonly string[]): readonly string[] => [
  ...new Set([...options, ...saved]),
];

/** A value of the types that are entered as text: a string, a number, a boolean. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/**
 * Returns the number of a text; null if it is blank. Text that is not a decimal number goes to the server as it is, which
 * reports it at the field.
 */
export function readNumber(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(trimmed) ? Number(trimmed) : text;
}
