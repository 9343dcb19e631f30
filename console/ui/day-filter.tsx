/** Narrows a list to days: from the first, before the last. */
export function DayFilter({
  from,
  to,
  onChange,
}: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly onChange: (changed: { from?: string | undefined; to?: string | undefined }) => void;
}) {
  const days = { from, to };
  return (["from", "to"] as const).map((name) => (
    <label key={name} className="text-muted flex items-center gap-2 max-sm:w-full">
      <span className="max-sm:w-14">{name === "from" ? "From" : "Before"}</span>
      <input
        type="date"
        value={days[name] ?? ""}
        onChange={({ target }) => onChange({ [name]: target.value || undefined })}
        className="border-line bg-panel text-ink h-9 rounded-lg border px-3 max-sm:flex-1"
      />
    </label>
  ));
}
