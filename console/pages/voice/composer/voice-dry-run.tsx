import type { Answer } from "../../../api/answer.ts";
import { formatCount } from "../../../ui/numbers.ts";
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
      <p className="text-muted">
        Up to {formatCount(calls_per_second)} {calls_per_second === 1 ? "call" : "calls"} a second,
        at the trunk's pace.
      </p>
    </DryRunPanel>
  );
}
