import type { Option } from "./option.ts";

/** A filter of a list: one of the options, or all. */
export function FilterSelect<Value extends string | number>({
  label,
  all,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  /** The words for no filter. */
  readonly all: string;
  readonly value: Value | undefined;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value | undefined) => void;
}) {
  return (
    <select
      aria-label={label}
      className="border-line bg-panel h-9 shrink-0 rounded-lg border px-3 max-sm:grow"
      value={value ?? ""}
      onChange={({ target }) =>
        onChange(options.find((option) => String(option.value) === target.value)?.value)
      }
    >
      <option value="">{all}</option>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
