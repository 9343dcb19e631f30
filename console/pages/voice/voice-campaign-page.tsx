import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { details_ms, useRefresh } from "../../api/live.ts";
import { voiceCampaignQuery, type VoiceCampaign } from "../../api/voice.ts";
import { useVoiceProgress } from "../../api/voice-progress.ts";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Missing } from "../../ui/missing.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { CampaignWhen } from "../campaigns/campaign-when.tsx";
import { VoiceStatusBadge } from "./voice-badges.tsx";
import { VoiceControls } from "./voice-controls.tsx";
import { VoiceFailures } from "./voice-failures.tsx";
import { VoiceHolds } from "./voice-holds.tsx";
import { VoiceKeys } from "./voice-keys.tsx";
import { VoicePace } from "./voice-pace.tsx";
import { VoiceRecipients } from "./voice-recipients.tsx";
import { type_options } from "./voice-search.ts";
import { VoiceOutcome, VoiceStats } from "./voice-stats.tsx";

const route = getRouteApi("/shell/voice/campaigns/$id");

/** One voice campaign, live. */
export function VoiceCampaignPage() {
  const { id } = route.useParams();
  const { data: campaign, error } = useQuery(voiceCampaignQuery(id));
  useVoiceProgress();
  const about = { campaign_id: id };
  useRefresh(["voice.campaign.progress"], ["voice-campaigns", id], about, details_ms);
  // One page for all states, so that the heading keeps the focus.
  return (
    <Page
      title={
        campaign ? (
          <span className="flex flex-wrap items-center gap-3">
            {campaign.name} <VoiceStatusBadge status={campaign.status} />
          </span>
        ) : (
          "Voice campaign"
        )
      }
      text={campaign && <About campaign={campaign} />}
      actions={
        campaign && (
          <>
            <CallsOf id={id} />
            <VoiceControls campaign={campaign} />
          </>
        )
      }
    >
      {campaign ? (
        <Content key={id} campaign={campaign} />
      ) : (
        <Missing error={error} what="campaign">
          <Link to="/voice/campaigns" className="text-accent underline">
            All voice campaigns
          </Link>
        </Missing>
      )}
    </Page>
  );
}

function CallsOf({ id }: { readonly id: number }) {
  const reads = useMay("calls.read");
  const manages = useMay("calls.manage");
  if (!reads && !manages) return null;
  return (
    <Link to="/calls" search={{ campaign_id: id }} className={buttonClass()}>
      Show calls
    </Link>
  );
}

function Content({ campaign }: { readonly campaign: VoiceCampaign }) {
  return (
    <>
      <VoiceHolds campaign={campaign} />
      <VoiceStats campaign={campaign} />
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <VoiceOutcome campaign={campaign} />
        <VoiceFailures campaign={campaign} />
      </div>
      <VoiceKeys campaign={campaign} />
      <VoicePace campaign={campaign} />
      {campaign.purged_at === null ? (
        <VoiceRecipients campaign={campaign} />
      ) : (
        <EmptyState
          title="The recipients are no longer kept"
          text="The account's retention period for them has ended. The counts remain."
        />
      )}
    </>
  );
}

function About({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { call_type, caller_id, max_retry, retry_after } = campaign;
  return (
    <>
      {type_options.find(({ value }) => value === call_type)?.label}.{" "}
      <CampaignWhen campaign={campaign} />.{caller_id !== null && ` Shown as ${caller_id}.`}
      {max_retry > 0 &&
        ` Up to ${max_retry + 1} attempts, ${Math.max(1, retry_after)} minutes apart.`}
    </>
  );
}
