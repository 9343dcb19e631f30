import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { campaignsQuery, type Campaign } from "../../api/chat.ts";
import { useCampaignProgress } from "../../api/chat-progress.ts";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { percentDone } from "../campaigns/percent-done.ts";
import { StatusBadge } from "../chat/status-badge.tsx";

const shown_max = 5;

/** The newest campaigns, with their progress as it happens. */
export function RunningCampaigns() {
  const { data, error } = useInfiniteQuery(campaignsQuery(undefined));
  const may_send = useMay("chat.campaigns.create");
  useCampaignProgress();
  const rows = data?.pages[0]?.data.slice(0, shown_max);
  return (
    <Panel
      title="Newest campaigns"
      actions={
        rows?.length !== 0 && (
          <Link to="/chat/campaigns" className="text-accent underline">
            All campaigns
          </Link>
        )
      }
    >
      <FormError error={error} />
      {rows?.length === 0 ? (
        <EmptyState
          title="Send your first campaign"
          text="One message to many people: choose a template, add numbers, and see exactly what would be sent before it is."
        >
          {may_send && (
            <Link to="/chat/campaigns/new" className={buttonClass("primary")}>
              Begin
            </Link>
          )}
        </EmptyState>
      ) : (
        <ul aria-label="Newest campaigns" className="divide-line flex flex-col divide-y">
          {rows?.map((campaign) => (
            <Row key={campaign.id} campaign={campaign} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Row({ campaign }: { readonly campaign: Campaign }) {
  const { id, name, status, sent_count, total_contacts, pending_count } = campaign;
  return (
    <li className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-2 py-3 first:pt-0 last:pb-0 sm:grid-cols-[1fr_auto_12rem]">
      <div className="min-w-0">
        <Link to="/chat/campaigns/$id" params={{ id }} className="font-medium hover:underline">
          {name}
        </Link>
        <p className="text-muted text-xs">
          {formatCount(sent_count)} of {formatCount(total_contacts)} sent
        </p>
      </div>
      <StatusBadge status={status} />
      <div className="max-sm:col-span-2">
        <ProgressBar
          label={`Progress of ${name}`}
          percent={percentDone(total_contacts, pending_count)}
        />
      </div>
    </li>
  );
}
