import { Button } from "./button.tsx";
import { formatCount } from "./numbers.ts";

/** Steps through the items of a preview; nothing if there is only one. */
export function Pager({
  at,
  count,
  onChange,
}: {
  /** From 0. */
  readonly at: number;
  readonly count: number;
  readonly onChange: (at: number) => void;
}) {
  if (count < 2) return null;
  return (
    <div className="flex flex-wrap items-center justify-center gap-3">
      <Button disabled={at === 0} onClick={() => onChange(at - 1)}>
        Previous
      </Button>
      <span className="text-muted text-xs tabular-nums">
        {formatCount(at + 1)} of {formatCount(count)}
      </span>
      <Button disabled={at === count - 1} onClick={() => onChange(at + 1)}>
        Next
      </Button>
    </div>
  );
}
