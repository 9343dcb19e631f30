import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { campaignQuery, type CampaignDetail } from "../../api/chat.ts";
import { useCampaignProgress } from "../../api/chat-progress.ts";
import { details_ms, useRefresh } from "../../api/live.ts";
import { campaign_failures } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Missing } from "../../ui/missing.tsx";
import { Page } from "../../ui/page.tsx";
import { CampaignWhen } from "../campaigns/campaign-when.tsx";
import { CampaignControls } from "./campaign-controls.tsx";
import { CampaignFunnel } from "./campaign-funnel.tsx";
import { CampaignHolds } from "./campaign-holds.tsx";
import { CampaignPace } from "./campaign-pace.tsx";
import { CampaignReasons } from "./campaign-reasons.tsx";
import { CampaignRecipients } from "./campaign-recipients.tsx";
import { CampaignStats } from "./campaign-stats.tsx";
import { SandboxPhone } from "./sandbox-phone.tsx";
import { StatusBadge } from "./status-badge.tsx";

const route = getRouteApi("/shell/chat/campaigns/$id");

export function CampaignPage() {
  const { id } = route.useParams();
  const { data: campaign, error } = useQuery(campaignQuery(id));
  useCampaignProgress();
  useRefresh(["chat.reply.received"], ["chat-campaigns", id]);
  // Credits are spent with the messages, and refunded for those that fail later.
  useRefresh(["chat.campaign.progress"], ["chat-campaigns", id], { campaign_id: id }, details_ms);
  // One page for all states, so that the heading keeps the focus.
  return (
    <Page
      title={
        campaign ? (
          <span className="flex flex-wrap items-center gap-3">
            {campaign.name} <StatusBadge status={campaign.status} />
          </span>
        ) : (
          "Chat campaign"
        )
      }
      text={campaign && <CampaignWhen campaign={campaign} />}
      actions={campaign && <CampaignControls campaign={campaign} />}
    >
      {campaign ? (
        <Content key={id} campaign={campaign} />
      ) : (
        <Missing error={error} what="campaign">
          <Link to="/chat/campaigns" className="text-accent underline">
            All campaigns
          </Link>
        </Missing>
      )}
    </Page>
  );
}

function Content({ campaign }: { readonly campaign: CampaignDetail }) {
  const { failure, purged_at } = campaign;
  return (
    <>
      {failure !== null && <Failure failure={failure} />}
      <CampaignHolds campaign={campaign} />
      <CampaignStats campaign={campaign} />
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <CampaignFunnel campaign={campaign} />
        <CampaignReasons campaign={campaign} />
      </div>
      <CampaignPace campaign={campaign} />
      {purged_at === null && <SandboxPhone campaign={campaign} />}
      {purged_at === null ? (
        <CampaignRecipients campaign={campaign} />
      ) : (
        <EmptyState
          title="The recipients are no longer kept"
          text="The account's retention period for them has ended. The counts remain."
        />
      )}
    </>
  );
}

function Failure({ failure }: { readonly failure: string }) {
  const { text, advice } = reasonOf(campaign_failures, failure);
  return (
    <div className="bg-danger-soft rounded-xl p-4">
      <p className="text-danger font-medium">The campaign failed</p>
      <p>
        {text} {advice}
      </p>
    </div>
  );
}
