import { formatCount } from "./numbers.ts";
import { Panel } from "./panel.tsx";
import { useTimeFormat } from "./time.tsx";

const minutes = 60;
const minute_ms = 60_000;

/** What happened in each minute of an hour until the last one given; nothing if nothing did. */
export function MinuteBars({
  title,
  data,
}: {
  readonly title: string;
  /** Minutes in which nothing happened may be missing. */
  readonly data: readonly { readonly minute: string; readonly count: number }[];
}) {
  const format = useTimeFormat({ timeStyle: "short" });
  const last = data.at(-1);
  if (!last) return null;
  const counts = new Map(data.map(({ minute, count }) => [Date.parse(minute), count]));
  const highest = Math.max(1, ...counts.values());
  const end_ms = Date.parse(last.minute);
  const bars = Array.from({ length: minutes }, (_, i) => end_ms - (minutes - 1 - i) * minute_ms);
  return (
    <Panel title={title}>
      <figure className="flex flex-col gap-2">
        <div aria-hidden className="flex h-24 items-end gap-px">
          {bars.map((at_ms) => (
            <div
              key={at_ms}
              title={`${format(new Date(at_ms).toISOString())}: ${formatCount(counts.get(at_ms) ?? 0)}`}
              style={{ height: `${((counts.get(at_ms) ?? 0) / highest) * 100}%` }}
              className="bg-accent min-h-px flex-1 rounded-t-sm"
            />
          ))}
        </div>
        <figcaption className="text-muted text-xs">
          The hour until {format(last.minute)}; at most {formatCount(highest)} in a minute
        </figcaption>
      </figure>
    </Panel>
  );
}
