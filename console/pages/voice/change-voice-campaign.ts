import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import type { RetriedReason, VoiceCampaign } from "../../api/voice.ts";

const show = (campaign: VoiceCampaign) =>
  queryClient.setQueryData(["voice-campaigns", campaign.campaign_id], campaign);

const at = (id: number) => ({ path: { id: String(id) } });

export async function pauseVoiceCampaign(id: number): Promise<void> {
  show(await body(api.POST("/api/v1/voice/campaigns/{id}/pause", { params: at(id) })));
}

export async function resumeVoiceCampaign(id: number): Promise<void> {
  show(await body(api.POST("/api/v1/voice/campaigns/{id}/resume", { params: at(id) })));
}

export async function cancelVoiceCampaign(id: number): Promise<void> {
  show(await body(api.POST("/api/v1/voice/campaigns/{id}/cancel", { params: at(id) })));
}

/** Calls the people again that were not reached for one of the reasons; returns how many. `key` makes repetitions harmless. */
export async function retryVoiceCampaign(
  id: number,
  reasons: readonly RetriedReason[],
  key: string,
): Promise<number> {
  const { retried, campaign } = await body(
    api.POST("/api/v1/voice/campaigns/{id}/retry", {
      params: { ...at(id), header: { "idempotency-key": key } },
      body: { reasons: [...reasons] },
    }),
  );
  show(campaign);
  await queryClient.invalidateQueries({ queryKey: ["voice-recipients", id] });
  return retried;
}
