import { formatCount } from "../../ui/numbers.ts";

const bars_max = 60;

/** The first number of each row as a bar. The table beside it says the same. */
export function ReportBars({
  rows,
}: {
  readonly rows: readonly { readonly name: string; readonly count: number }[];
}) {
  const shown = rows.slice(0, bars_max);
  const highest = Math.max(1, ...shown.map(({ count }) => count));
  return (
    <div
      aria-hidden
      className="border-line bg-panel flex h-40 items-end gap-1 rounded-xl border p-4"
    >
      {shown.map(({ name, count }, at) => (
        <div
          key={at}
          title={`${name}: ${formatCount(count)}`}
          style={{ height: `${(count / highest) * 100}%` }}
          className="bg-accent min-h-px max-w-16 flex-1 rounded-t-sm"
        />
      ))}
    </div>
  );
}
