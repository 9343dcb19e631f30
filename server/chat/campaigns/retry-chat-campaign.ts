import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import { lockRetryableCampaign } from "../../audience/recipients/lock-campaign.ts";
import { extendReservation } from "../../credits/extend-reservation.ts";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { recordHeldStart } from "../holds/holds.ts";
import { scheduleTemplateSync } from "../numbers/schedule-template-sync.ts";
import { lockTemplateOf, revalidateCampaign } from "../templates/revalidate-campaigns.ts";
import { scheduleSkipDuplicates } from "./skip-duplicate-people.ts";

/** The columns of a campaign that its retry needs. */
type Campaign = {
  readonly name: string;
  readonly chat_number_id: number;
  readonly template_id: number | null;
  readonly reservation_id: number;
};

/** Which recipients of a campaign: those with one of the errors, or every failed one (null). */
type FailedOf = {
  readonly id: number;
  readonly errors: readonly string[] | null;
  /** Also those who may have received the message. */
  readonly may_duplicate: boolean;
};

/**
 * Queues failed recipients again, each as a new message, and reserves a credit for each. Messages whose outcome
 * never arrived are among them only with `may_duplicate`, because they may have been received; their credit was
 * captured, so none is reserved. An ended campaign runs again; it is paused if its template has changed. Returns how many, and the chat number to notify on
 * `chat_work`. Errors: not-found; conflict when the campaign was cancelled or not started, its recipients
 * were purged, or its number or template no longer exists; insufficient-credit.
 */
export async function retryChatCampaign(
  tx: Tx,
  actor: Actor,
  failed: FailedOf,
  now: Date,
): Promise<{ readonly retried: number; readonly chat_number_id: number }> {
  const { account_id } = actor;
  const { id, errors, may_duplicate } = failed;
  const key = { account_id, campaign_id: id };
  await lockTemplateOf(tx, { account_id, id });
  const campaign = await lockRetryableCampaign<Campaign>(
    tx,
    "chat_campaigns",
    ["name", "chat_number_id", "template_id", "reservation_id"],
    key,
  );
  await lockNumberAndTemplate(tx, key, campaign, now);
  const { name, chat_number_id, reservation_id } = campaign;
  const { retried, uncharged } = await queueFailed(tx, key, failed, now);
  if (retried === 0) return { retried, chat_number_id };
  await scheduleSkipDuplicates(tx, key, now);
  await recordEvent(tx, {
    account_id,
    type: "chat.campaign.retried",
    occurred_at: now,
    data: { campaign_id: id, name, retried },
  });
  if (campaign.state !== "running") await recordHeldStart(tx, account_id, { ...campaign, id }, now);
  await revalidateCampaign(tx, { account_id, id }, now);
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_campaign.retried",
    subject_id: id,
    detail: { retried, errors, may_duplicate },
  });
  if (uncharged > 0)
    await extendReservation(tx, { account_id, id: reservation_id, amount: uncharged }, now);
  return { retried, chat_number_id };
}

async function queueFailed(
  tx: Tx,
  { account_id, campaign_id }: CampaignKey,
  { errors, may_duplicate }: FailedOf,
  now: Date,
): Promise<{ retried: number; uncharged: number }> {
  const { rows } = await sql<{ retried: number; uncharged: number }>`
    select retried, uncharged from retry_chat_recipients(${account_id}, ${campaign_id},
      ${errors && [...errors]}::text[], ${may_duplicate}, ${now}::timestamptz)`.execute(tx);
  return rows[0]!;
}

/**
 * Locks both until the commit: an inactive number or a deleted template could not send the campaign. Schedules a fetch
 * of a template that is not approved, because it is fetched rarely while no open campaign uses it.
 */
async function lockNumberAndTemplate(
  tx: Tx,
  { account_id }: CampaignKey,
  { chat_number_id, template_id }: Campaign,
  now: Date,
): Promise<void> {
  const number = await tx
    .selectFrom("chat_numbers")
    .select("active")
    .where("account_id", "=", account_id)
    .where("id", "=", chat_number_id)
    .forKeyShare()
    .executeTakeFirst();
  if (!number?.active) throw new Refusal("conflict", "The campaign's chat number is not active");
  if (template_id === null) return;
  const template = await tx
    .selectFrom("chat_templates")
    .select(["status", "driver", "business_account_id"])
    .where("account_id", "=", account_id)
    .where("id", "=", template_id)
    .forKeyShare()
    .executeTakeFirst();
  if (!template) throw new Refusal("conflict", "The campaign's template has been deleted");
  const { status, business_account_id } = template;
  const driver = template.driver as ChatDriverName;
  if (status !== "APPROVED")
    await scheduleTemplateSync(tx, { account_id, driver, business_account_id }, now);
}
