import { formatCount, formatShare } from "./numbers.ts";

/** Counts as bars, each as a share of a whole; `of` says what the whole is. */
export function ShareBars({
  rows,
  whole,
  of,
}: {
  readonly rows: readonly { readonly label: string; readonly count: number }[];
  readonly whole: number;
  readonly of?: string;
}) {
  const bars = (
    <dl className="flex flex-col gap-4">
      {rows.map(({ label, count }) => (
        <div key={label} className="grid grid-cols-[8rem_1fr_auto] items-center gap-3">
          <dt>{label}</dt>
          <dd aria-hidden className="bg-hover h-2.5 overflow-hidden rounded-full">
            <div
              className="bg-accent h-full rounded-full transition-[width] duration-300"
              style={{ width: `${whole === 0 ? 0 : Math.min(100, (count / whole) * 100)}%` }}
            />
          </dd>
          <dd className="min-w-24 text-right tabular-nums">
            {formatCount(count)}{" "}
            <span className="text-muted text-xs">{formatShare(count, whole)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
  if (of === undefined) return bars;
  return (
    <>
      {bars}
      <p className="text-muted text-xs">{of}</p>
    </>
  );
}
