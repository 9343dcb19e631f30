import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { campaignsQuery, type Campaign } from "../../api/chat.ts";
import { useCampaignProgress } from "../../api/chat-progress.ts";
import { voiceCampaignsQuery, type VoiceCampaign } from "../../api/voice.ts";
import { useVoiceProgress } from "../../api/voice-progress.ts";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { percentDone } from "../campaigns/percent-done.ts";
import { StatusBadge } from "../chat/status-badge.tsx";
import { VoiceStatusBadge } from "../voice/voice-badges.tsx";

const shown_max = 5;

/** The newest campaigns, with their progress as it happens. */
export function RunningCampaigns() {
  const { data, error } = useInfiniteQuery(campaignsQuery(undefined));
  const may_send = useMay("chat.campaigns.create");
  useCampaignProgress();
  const rows = data?.pages[0]?.data.slice(0, shown_max);
  return (
    <Panel
      title="WhatsApp campaigns"
      actions={
        rows?.length !== 0 && (
          <Link to="/chat/campaigns" className="text-accent underline">
            All WhatsApp campaigns
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
              New campaign
            </Link>
          )}
        </EmptyState>
      ) : (
        <ul aria-label="Newest WhatsApp campaigns" className="divide-line flex flex-col divide-y">
          {rows?.map((campaign) => (
            <ChatRow key={campaign.id} campaign={campaign} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** The newest voice campaigns, if there is one. */
export function RunningVoiceCampaigns() {
  const { data, error } = useInfiniteQuery(voiceCampaignsQuery({}));
  useVoiceProgress();
  const rows = data?.pages[0]?.data.slice(0, shown_max) ?? [];
  if (rows.length === 0) return <FormError error={error} />;
  return (
    <Panel
      title="Voice campaigns"
      actions={
        <Link to="/voice/campaigns" className="text-accent underline">
          All voice campaigns
        </Link>
      }
    >
      <ul aria-label="Newest voice campaigns" className="divide-line flex flex-col divide-y">
        {rows.map((campaign) => (
          <VoiceRow key={campaign.campaign_id} campaign={campaign} />
        ))}
      </ul>
    </Panel>
  );
}

function ChatRow({ campaign }: { readonly campaign: Campaign }) {
  const { id, name, status, sent_count, total_contacts, pending_count } = campaign;
  return (
    <Row
      name={name}
      link={
        <Link to="/chat/campaigns/$id" params={{ id }} className="font-medium hover:underline">
          {name}
        </Link>
      }
      done={`${formatCount(sent_count)} of ${formatCount(total_contacts)} sent`}
      badge={<StatusBadge status={status} />}
      percent={percentDone(total_contacts, pending_count)}
    />
  );
}

function VoiceRow({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { campaign_id: id, name, status, answered, total, pending } = campaign;
  return (
    <Row
      name={name}
      link={
        <Link to="/voice/campaigns/$id" params={{ id }} className="font-medium hover:underline">
          {name}
        </Link>
      }
      done={`${formatCount(answered)} of ${formatCount(total)} answered`}
      badge={<VoiceStatusBadge status={status} />}
      percent={percentDone(total, pending)}
    />
  );
}

function Row({
  name,
  link,
  done,
  badge,
  percent,
}: {
  readonly name: string;
  readonly link: ReactNode;
  readonly done: string;
  readonly badge: ReactNode;
  readonly percent: number;
}) {
  return (
    <li className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-2 py-3 first:pt-0 last:pb-0 sm:grid-cols-[1fr_auto_12rem]">
      <div className="min-w-0 wrap-anywhere">
        {link}
        <p className="text-muted text-xs">{done}</p>
      </div>
      {badge}
      <div className="max-sm:col-span-2">
        <ProgressBar label={`Progress of ${name}`} percent={percent} />
      </div>
    </li>
  );
}
