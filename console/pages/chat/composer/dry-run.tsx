import { useQuery } from "@tanstack/react-query";
import type { Answer } from "../../../api/answer.ts";
import { numbersQuery } from "../../../api/chat.ts";
import { formatCount } from "../../../ui/numbers.ts";
import { SandboxNote } from "../../../ui/sandbox-note.tsx";
import { DryRunPanel } from "../../campaigns/dry-run-panel.tsx";
import { DryRunSamples } from "./dry-run-samples.tsx";
import type { Composer } from "./use-composer.ts";

export type Preview = Answer<"previewChatCampaign">;

const left_out = {
  invalid: "Not a phone number",
  duplicate: "More than once in the list",
  blacklisted: "Suppressed: they asked for no messages",
} as const;

/** What the campaign would do, and the button that does it. */
export function DryRun({
  composer: { draft, template, send, reset, may_see },
  preview,
}: {
  readonly composer: Composer;
  readonly preview: Preview;
}) {
  const { data: numbers = [] } = useQuery(numbersQuery);
  const sender = numbers.find(({ id }) => String(id) === draft.chat_number_id);
  const { total_contacts, credits, trimmed, trimmed_samples, samples } = preview;
  return (
    <DryRunPanel
      {...preview}
      reached={total_contacts}
      left_out={(["invalid", "duplicate", "blacklisted"] as const).map((reason) => ({
        reason: left_out[reason],
        count: trimmed[reason],
        examples: trimmed_samples
          .filter((one) => one.reason === reason)
          .map(({ phone_number }) => phone_number),
      }))}
      about_credits={
        !credits.sufficient && (
          <p className="text-danger">
            The credit does not suffice. Send to fewer people, or add credit.
          </p>
        )
      }
      list={may_see ? "/chat/campaigns" : null}
      action={`Send to ${formatCount(total_contacts)}`}
      blocked={!credits.sufficient}
      send={send}
      onChange={reset}
    >
      {sender?.driver === "sandbox" && (
        <SandboxNote text="no message leaves this server. You can read and answer them here." />
      )}
      {template && <DryRunSamples template={template} samples={samples} />}
    </DryRunPanel>
  );
}
