// Puts the counts of the live stream into the cached voice campaigns.
import type { InfiniteData } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Answer } from "./answer.ts";
import { useEvents, useRefresh } from "./live.ts";
import { queryClient } from "./query-client.ts";
import type { VoiceCampaign, VoiceState, VoiceStatus } from "./voice.ts";

type Progress = {
  readonly campaign_id: number;
  readonly status: VoiceStatus;
  readonly counts: Readonly<Record<VoiceState, number>>;
};

/** Keeps the voice campaigns that are shown up to date. */
export function useVoiceProgress(): void {
  const receive = useCallback(
    (data: Record<string, unknown>) => showProgress(data as Progress),
    [],
  );
  useEvents(["voice.campaign.progress"], receive);
  useRefresh(
    [
      "voice.campaign.created",
      "voice.campaign.started",
      "voice.campaign.paused",
      "voice.campaign.resumed",
      "voice.campaign.retried",
      "voice.campaign.completed",
      "voice.campaign.cancelled",
      "voice.campaign.trunk_changed",
    ],
    ["voice-campaigns"],
  );
}

function showProgress({ campaign_id, status, counts }: Progress): void {
  const { synthesizing, waiting, calling, ...finished } = counts;
  const pending = synthesizing + waiting + calling;
  const change = { status, ...finished, pending, in_progress: calling };
  queryClient.setQueryData<VoiceCampaign>(
    ["voice-campaigns", campaign_id],
    (old) => old && { ...old, ...change },
  );
  queryClient.setQueriesData<InfiniteData<Answer<"listVoiceCampaigns">>>(
    { queryKey: ["voice-campaigns", "list"] },
    (old) =>
      old && {
        ...old,
        pages: old.pages.map((page) => ({
          ...page,
          data: page.data.map((row): VoiceCampaign =>
            row.campaign_id === campaign_id ? { ...row, ...change } : row,
          ),
        })),
      },
  );
}
