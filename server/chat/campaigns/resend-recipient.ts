import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { lockOpenChatCampaign } from "./internal/lock-open-chat-campaign.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";
import { shownState, type RecipientState } from "../recipients/recipient-states.ts";

/**
 * How long after its dispatch a message of unknown outcome may be resent: the sender's lease (10
 * s), the longest request (30 s) and 60 s, after which no process can still be sending it.
 */
export const resend_after_ms = 100_000;

/**
 * Queues a recipient of unknown outcome again, as a new message with its own ID. The customer may
 * receive both, which the caller has accepted. Returns the chat number to notify on `chat_work`.
 * Errors: not-found; conflict when the outcome is known, may still arrive, or the campaign does not
 * send.
 */
export async function resendRecipient(
  tx: Tx,
  actor: Actor,
  recipient: { readonly campaign_id: number; readonly id: number },
  now: Date,
): Promise<number> {
  const { account_id } = actor;
  const { campaign_id, id } = recipient;
  const found = await tx
    .selectFrom("chat_recipients")
    .select(["state", "dispatches", "dispatched_at"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!found) throw notFound();
  refuseTooEarly(found, now);
  const { chat_number_id } = await lockOpenChatCampaign(tx, account_id, campaign_id, "sent again");
  const { dispatches } = found;
  const moves = [{ campaign_id, id, dispatches, state: "queued" as const }];
  const moved = await moveRecipients(tx, account_id, moves, now);
  if (moved.length === 0)
    throw new Refusal("conflict", "The outcome of this message has just arrived");
  await tx
    .updateTable("chat_campaigns")
    .set({ work_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", campaign_id)
    .execute();
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_recipient.resent",
    subject_id: id,
    detail: { campaign_id, attempts: dispatches },
  });
  return chat_number_id;
}

function refuseTooEarly(
  { state, dispatched_at }: { readonly state: string; readonly dispatched_at: Date | null },
  now: Date,
): void {
  if (state !== "unknown")
    throw new Refusal(
      "conflict",
      `Only a message of unknown outcome can be sent again; this one is ${shownState(state as RecipientState)}`,
    );
  const from_ms = (dispatched_at?.getTime() ?? 0) + resend_after_ms;
  if (now.getTime() < from_ms)
    throw new Refusal(
      "conflict",
      `The outcome of this message may still arrive; it can be resent from ${new Date(from_ms).toISOString()} on`,
    );
}
