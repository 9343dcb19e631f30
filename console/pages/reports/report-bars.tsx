import { formatCount } from "../../ui/numbers.ts";

/** Counts as bars, from the first to the last. The table beside it says the same. */
export function ReportBars({
  title,
  bars,
}: {
  readonly title: string;
  readonly bars: readonly { readonly name: string; readonly count: number }[];
}) {
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  return (
    <figure aria-hidden className="border-line bg-panel flex flex-col gap-2 rounded-xl border p-4">
      <figcaption className="font-medium">{title}</figcaption>
      <div className="grid grid-cols-[auto_1fr] gap-x-2 gap-y-1">
        <div className="text-muted flex flex-col justify-between text-right text-xs tabular-nums">
          <span>{formatCount(highest)}</span>
          <span>0</span>
        </div>
        <div className="border-line flex h-32 min-w-0 items-end gap-1 border-y">
          {bars.map(({ name, count }, at) => (
            <div
              key={at}
              title={`${name}: ${formatCount(count)}`}
              style={{ height: `${(count / highest) * 100}%` }}
              className="bg-accent min-h-px max-w-16 flex-1 rounded-t-sm"
            />
          ))}
        </div>
        <p className="text-muted col-start-2 flex justify-between gap-4 text-xs">
          {[...new Set([bars[0]?.name, bars.at(-1)?.name])].map((name) => (
            <span key={name} className="min-w-0 truncate">
              {name}
            </span>
          ))}
        </p>
      </div>
    </figure>
  );
}
