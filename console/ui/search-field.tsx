import { useEffect, useRef } from "react";

/** The search of a list; it takes effect with Enter, and when the focus leaves it. */
export function SearchField({
  label,
  placeholder,
  value,
  onSearch,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  // Not by a key: another input would lose the focus.
  useEffect(() => {
    if (input.current && input.current.value !== (value ?? "")) input.current.value = value ?? "";
  }, [value]);
  return (
    <form
      role="search"
      className="w-64 max-sm:w-full"
      onSubmit={(event) => {
        event.preventDefault();
        const text = (new FormData(event.currentTarget).get("q") as string).trim();
        if (text !== (value ?? "")) onSearch(text === "" ? undefined : text);
      }}
    >
      <input
        ref={input}
        name="q"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        defaultValue={value}
        enterKeyHint="search"
        onBlur={({ target }) => target.form?.requestSubmit()}
        className="border-line bg-panel h-9 w-full rounded-lg border px-3"
      />
    </form>
  );
}
