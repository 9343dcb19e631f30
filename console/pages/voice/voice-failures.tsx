import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { queryClient } from "../../api/query-client.ts";
import {
  voiceFailuresQuery,
  type VoiceCampaign,
  type VoiceFailure,
  type VoiceState,
} from "../../api/voice.ts";
import { reasonOf } from "../../messages/reason.ts";
import { retriedReason, voice_failures } from "../../messages/voice-reasons.ts";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount, formatCountOf } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { toasts } from "../../ui/toasts.tsx";
import { failure_link_class, FailureItem, RetryButton } from "../campaigns/failure-item.tsx";
import { retryVoiceCampaign } from "./change-voice-campaign.ts";

/** Why people were not reached, in plain words, with what can be done. */
export function VoiceFailures({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { campaign_id: id, busy, no_answer, failed, suppressed, skipped } = campaign;
  const failures = useQuery(voiceFailuresQuery(id));
  const not_reached = busy + no_answer + failed + suppressed + skipped;
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: ["voice-recipients", id] });
  }, [id, not_reached]);
  return (
    <Panel title="Not reached">
      <FormError error={failures.error} />
      {failures.data?.length === 0 && (
        <p className="text-muted">{campaign.finished_at === null ? "Nobody yet." : "Nobody."}</p>
      )}
      {failures.data && failures.data.length > 0 && (
        <ul className="divide-line -my-3 flex flex-col divide-y">
          {failures.data.map((failure) => (
            <FailureRow
              key={`${failure.state} ${failure.reason}`}
              campaign={campaign}
              failure={failure}
            />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function FailureRow({
  campaign: { campaign_id: id, status },
  failure: { state, reason, count, is_more },
}: {
  readonly campaign: VoiceCampaign;
  readonly failure: VoiceFailure;
}) {
  const words = reasonOf(voice_failures, reason);
  const shown = `${formatCount(count)}${is_more ? "+" : ""}`;
  const may = useMay("voice.campaigns.manage") && status !== "cancelled";
  const retried_reason = may ? retriedReason(reason) : null;
  return (
    <FailureItem
      link={
        <Link
          to="/voice/campaigns/$id"
          params={{ id }}
          search={{ state: state as VoiceState, reason }}
          hash="recipients"
          resetScroll={false}
          className={failure_link_class}
        >
          {words.label}
        </Link>
      }
      count={shown}
      words={words}
    >
      {retried_reason && (
        <RetryButton
          title="Call these people again?"
          text={`${count === 1 ? "1 person is" : `${shown} people are`} called once more. Calls that are answered cost credits.`}
          retry={async (key) => {
            const retried = await retryVoiceCampaign(id, [retried_reason], key);
            toasts.add({
              title: formatCountOf(retried, "person is called again", "people are called again"),
            });
          }}
        />
      )}
    </FailureItem>
  );
}
