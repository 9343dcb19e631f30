import type { CampaignDetail } from "../../api/chat.ts";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";

const show = (campaign: CampaignDetail) =>
  queryClient.setQueryData(["chat-campaigns", campaign.id], campaign);

export async function pauseCampaign(id: number): Promise<void> {
  show(await body(api.POST("/api/v1/chat/campaigns/{id}/pause", { params: { path: { id } } })));
}

export async function resumeCampaign(id: number): Promise<void> {
  show(await body(api.POST("/api/v1/chat/campaigns/{id}/resume", { params: { path: { id } } })));
}

export async function cancelCampaign(id: number): Promise<void> {
  show(await body(api.POST("/api/v1/chat/campaigns/{id}/cancel", { params: { path: { id } } })));
}

/** Queues failed recipients again, of all reasons or of some; returns how many. `key` makes repetitions harmless. */
export async function retryCampaign(
  id: number,
  errors: readonly string[] | null,
  key: string,
): Promise<number> {
  const { retried, campaign } = await body(
    api.POST("/api/v1/chat/campaigns/{id}/retry", {
      params: { path: { id }, header: { "idempotency-key": key } },
      body: errors === null ? {} : { errors: [...errors] },
    }),
  );
  show(campaign);
  await queryClient.invalidateQueries({ queryKey: ["chat-recipients", id] });
  return retried;
}

/** Sends a message of unknown outcome again. */
export async function resendRecipient(id: number, recipientId: number): Promise<void> {
  await api.POST("/api/v1/chat/campaigns/{id}/recipients/{recipientId}/resend", {
    params: { path: { id, recipientId } },
    body: { may_duplicate: true },
  });
  await queryClient.invalidateQueries({ queryKey: ["chat-recipients", id] });
}

/** Answers a message of the sandbox as its customer. */
export async function simulateReply(
  id: number,
  recipientId: number,
  reply: { readonly text: string; readonly payload?: string },
): Promise<void> {
  await api.POST("/api/v1/chat/campaigns/{id}/recipients/{recipientId}/simulated-replies", {
    params: { path: { id, recipientId } },
    body: reply,
  });
}

/** Suppresses a recipient's number for messages. */
export async function suppressPhone(phone: string, reason: string): Promise<void> {
  await api.POST("/api/v1/suppressions", {
    body: { phone_number: `+${phone}`, channel: "chat", reason },
  });
}
