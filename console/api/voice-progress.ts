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
  const { answered, machine, busy, no_answer, failed } = finished;
  const rung = answered + machine + busy + no_answer;
  // As the campaign's record has it, so that the answer rate is of one moment.
  const called = rung + failed;
  const change = { status, ...finished, pending, in_progress: calling, called };
  // Whoever was rung had a call; those of retries are known once the campaign is read again.
  const changed = (old: VoiceCampaign): VoiceCampaign => ({
    ...old,
    ...change,
    attempts: Math.max(old.attempts, rung),
  });
  queryClient.setQueryData<VoiceCampaign>(
    ["voice-campaigns", campaign_id],
    (old) => old && changed(old),
  );
  queryClient.setQueriesData<InfiniteData<Answer<"listVoiceCampaigns">>>(
    { queryKey: ["voice-campaigns", "list"] },
    (old) =>
      old && {
        ...old,
        pages: old.pages.map((page) => ({
          ...page,
          data: page.data.map((row) => (row.campaign_id === campaign_id ? changed(row) : row)),
        })),
      },
  );
}
