// Puts the counts of the live stream into the cached campaigns, so that no request stands between a frame and the page.
import type { InfiniteData } from "@tanstack/react-query";
import { useCallback } from "react";
import { useEvents, useRefresh } from "./live.ts";
import { queryClient } from "./query-client.ts";
import type { Answer } from "./answer.ts";
import type { Campaign, CampaignDetail, CampaignStatus, RecipientState } from "./chat.ts";

type Counts = Readonly<Record<RecipientState, number>>;
type Progress = {
  readonly campaign_id: number;
  readonly status: CampaignStatus;
  readonly counts: Counts;
};

/** Keeps the campaigns and their recipients that are shown up to date. */
export function useCampaignProgress(): void {
  const receive = useCallback(
    (data: Record<string, unknown>) => showProgress(data as Progress),
    [],
  );
  useEvents(["chat.campaign.progress"], receive);
  useRefresh(
    [
      "chat.campaign.completed",
      "chat.campaign.paused",
      "chat.campaign.resumed",
      "chat.campaign.failed",
      "chat.campaign.cancelled",
      "chat.campaign.created",
    ],
    ["chat-campaigns"],
  );
}

function showProgress({ campaign_id, status, counts }: Progress): void {
  const change = { status, ...sumsOf(counts) };
  queryClient.setQueryData<CampaignDetail>(
    ["chat-campaigns", campaign_id],
    (old) => old && { ...old, ...change, counts },
  );
  queryClient.setQueriesData<InfiniteData<Answer<"listChatCampaigns">>>(
    { queryKey: ["chat-campaigns", "list"] },
    (old) =>
      old && {
        ...old,
        pages: old.pages.map((page) => ({
          ...page,
          data: page.data.map((row): Campaign =>
            row.id === campaign_id ? { ...row, ...change } : row,
          ),
        })),
      },
  );
}

/** The counts of a campaign as its record has them. */
function sumsOf(counts: Counts) {
  return {
    sent_count: counts.accepted + counts.sent + counts.delivered + counts.read,
    failed_count: counts.failed + counts.skipped + counts.cancelled,
    pending_count: counts.queued + counts.deferred + counts.dispatching + counts.unknown,
    delivered_count: counts.delivered + counts.read,
    read_count: counts.read,
    unknown_count: counts.unknown,
  };
}
