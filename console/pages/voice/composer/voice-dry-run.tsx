import type { Answer } from "../../../api/answer.ts";
import { formatCount } from "../../../ui/numbers.ts";
import { CallsSandboxNote } from "../../../ui/sandbox-note.tsx";
import { DryRunPanel } from "../../campaigns/dry-run-panel.tsx";
import type { VoiceComposer } from "./use-voice-composer.ts";

type Preview = Answer<"previewVoiceCampaign">;

/** What the campaign would do, and the button that does it. */
export function VoiceDryRun({
  composer: { send, reset },
  preview,
}: {
  readonly composer: VoiceComposer;
  readonly preview: Preview;
}) {
  const { total, suppressed, rejected, duplicates, rejects, credits, calls_per_second } = preview;
  const callable = total - suppressed;
  return (
    <DryRunPanel
      {...preview}
      left_out={[
        {
          reason: "Not valid",
          count: rejected,
          examples: rejects.map(({ row, value, reason }) => `row ${row}: ${value} ${reason}`),
        },
        { reason: "More than once in the list", count: duplicates },
        { reason: "Suppressed: they asked for no calls", count: suppressed },
      ]}
      about_credits={
        <p className={credits.sufficient ? "text-muted text-xs" : "text-danger"}>
          {credits.sufficient
            ? "For the first pulse of one answered call to each; longer calls cost more."
            : "The credit does not suffice for everyone: the campaign pauses when it is used up."}
        </p>
      }
      list="/voice/campaigns"
      action={`Call ${formatCount(callable)} ${callable === 1 ? "person" : "people"}`}
      blocked={callable === 0}
      send={send}
      onChange={reset}
    >
      <CallsSandboxNote />
      <LocalHours zones={preview.zones} />
      <p className="text-muted">
        Up to {formatCount(calls_per_second)} {calls_per_second === 1 ? "call" : "calls"} a second,
        at the trunk's pace.
      </p>
    </DryRunPanel>
  );
}

/** When people may be called by the clocks where they are. */
function LocalHours({ zones }: Pick<Preview, "zones">) {
  if (zones.length === 0) return null;
  return (
    <section aria-label="Where they are" className="flex flex-col gap-1">
      <h3 className="font-medium">Where they are</h3>
      <ul className="flex flex-col gap-1">
        {zones.map(({ time_zones, recipients, callable_from }) => (
          <li key={time_zones.join()}>
            {formatCount(recipients)} in{" "}
            {time_zones.length === 0 ? "an unknown place" : time_zones.join(" or ")}
            <span className="text-muted">
              ,{" "}
              {callable_from === null
                ? "never callable at these hours"
                : localTime(callable_from, time_zones[0])}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The first time at which they may be called, by a clock there. */
function localTime(at: string, timeZone: string | undefined): string {
  const format = new Intl.DateTimeFormat(undefined, {
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  return `from ${format.format(new Date(at))}${timeZone === undefined ? "" : " there"}`;
}
