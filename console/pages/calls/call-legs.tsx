import type { CallDetail } from "../../api/call-records.ts";
import { formatDuration } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { useNow } from "../../ui/use-now.ts";
import { status_options } from "./calls-search.ts";

type Leg = CallDetail["legs"][number];

const roles: Readonly<Record<Leg["role"], string>> = {
  agent: "Agent",
  customer: "Customer",
  transfer: "Transferred to",
};

/** Each party on one time line: ringing, then talking. Counts the seconds while one of them is connected or rings. */
export function CallLegs({ call: { legs } }: { readonly call: CallDetail }) {
  const isLive = legs.some(({ ended_at }) => ended_at === null);
  const now = useNow(isLive ? 1_000 : null);
  if (legs.length === 0) return null;
  const times = legs.flatMap(({ initiated_at, answered_at, ended_at }) =>
    [initiated_at, answered_at, ended_at].flatMap((at) => (at === null ? [] : [Date.parse(at)])),
  );
  const begin_ms = Math.min(...times);
  const end_ms = isLive ? Math.max(now, ...times) : Math.max(...times);
  const share = (from_ms: number, to_ms: number) =>
    `${((to_ms - from_ms) / Math.max(1, end_ms - begin_ms)) * 100}%`;
  return (
    <Panel title="Parties">
      <ul className="flex flex-col gap-4">
        {legs.map((leg, at) => {
          const from_ms = Date.parse(leg.initiated_at);
          const to_ms = leg.ended_at === null ? end_ms : Date.parse(leg.ended_at);
          const answered_ms = leg.answered_at === null ? to_ms : Date.parse(leg.answered_at);
          return (
            <li key={at} className="flex flex-col gap-1.5">
              <p className="flex flex-wrap justify-between gap-x-3">
                <span>
                  <span className="font-medium">{roles[leg.role]}</span>{" "}
                  <span className="tabular-nums">{leg.number}</span>
                </span>
                <span className="text-muted">
                  {wordsOf(leg, answered_ms - from_ms, to_ms - answered_ms)}
                </span>
              </p>
              <div aria-hidden className="bg-hover flex h-2.5 overflow-hidden rounded-full">
                <div style={{ width: share(begin_ms, from_ms) }} />
                <div className="bg-muted" style={{ width: share(from_ms, answered_ms) }} />
                <div className="bg-accent" style={{ width: share(answered_ms, to_ms) }} />
              </div>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function wordsOf({ status, answered_at }: Leg, rang_ms: number, talked_ms: number): string {
  const rang = `rang ${formatDuration(rang_ms)}`;
  const label = status_options.find(({ value }) => value === status)?.label ?? status;
  if (answered_at === null) return `${label}, ${rang}`;
  return `${rang}, connected ${formatDuration(talked_ms)}`;
}
