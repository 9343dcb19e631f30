import { ProgressBar } from "../../ui/progress-bar.tsx";
import { percentDone } from "./percent-done.ts";

/** How far a campaign is, in a row of a list. */
export function ListProgress({
  name,
  total,
  pending,
}: {
  readonly name: string;
  readonly total: number;
  readonly pending: number;
}) {
  const percent = percentDone(total, pending);
  return (
    <div className="flex items-center gap-3">
      <div className="w-24">
        <ProgressBar label={`Progress of ${name}`} percent={percent} />
      </div>
      <span className="text-muted text-xs tabular-nums">{percent}%</span>
    </div>
  );
}
