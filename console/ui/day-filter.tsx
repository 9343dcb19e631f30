import { useEffect, useRef } from "react";

type Change = (changed: { from?: string | undefined; to?: string | undefined }) => void;

/** Narrows a list to days: from the first, before the last. */
export function DayFilter({
  from,
  to,
  onChange,
}: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly onChange: Change;
}) {
  const days = { from, to };
  return (["from", "to"] as const).map((name) => (
    <label key={name} className="text-muted flex items-center gap-2 max-sm:w-full">
      <span className="max-sm:w-14">{name === "from" ? "From" : "Before"}</span>
      <DayField day={days[name]} onChange={(day) => onChange({ [name]: day })} />
    </label>
  ));
}

const first_day = "1970-01-01";
/** Keys that change a part of the day; the other parts follow. */
const part_keys = /^(?:\d|Arrow(?:Up|Down)|Backspace|Delete)$/;

/** A day that takes effect when it is chosen from the calendar, with Enter, and when the focus moves on. */
function DayField({
  day,
  onChange,
}: {
  readonly day: string | undefined;
  readonly onChange: (day: string | undefined) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const is_typing = useRef(false);
  // Not by a key: another input would lose the focus.
  useEffect(() => {
    if (input.current && input.current.value !== (day ?? "")) input.current.value = day ?? "";
  }, [day]);
  const apply = ({ value, validity }: HTMLInputElement) => {
    is_typing.current = false;
    // A day without some of its parts has no value; nor has a year that is half typed a meaning.
    if (validity.badInput || validity.rangeUnderflow || value === (day ?? "")) return;
    onChange(value === "" ? undefined : value);
  };
  return (
    <input
      ref={input}
      type="date"
      min={first_day}
      max="9999-12-31"
      defaultValue={day}
      onPointerDown={() => {
        is_typing.current = false;
      }}
      onKeyDown={({ key, currentTarget }) => {
        if (part_keys.test(key)) is_typing.current = true;
        else if (key === "Enter") apply(currentTarget);
      }}
      onChange={({ target }) => {
        if (!is_typing.current) apply(target);
      }}
      onBlur={({ target }) => apply(target)}
      className="border-line bg-panel text-ink h-9 rounded-lg border px-3 max-sm:flex-1"
    />
  );
}
