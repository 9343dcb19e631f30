// Sends the chat notification of a call, where the call requested it.
import { quietUntil } from "../../accounts/accounts/quiet-time.ts";
import { isSuppressed, messageOutreach } from "../../audience/suppressions/suppressions.ts";
import type { App } from "../../engine/app.ts";
import type { Job, JobHandler } from "../../engine/work-jobs.ts";
import type { Executor } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { hold_reasons, holdsOf, type HoldReason } from "../holds/holds.ts";
import { validateCampaign } from "../campaigns/validate-campaign.ts";
import { makeCallNoticeId } from "../messages/message-id.ts";
import { categoryOf } from "../messages/message-plan.ts";
import { renderMessage } from "../messages/render-message.ts";
import { sendSingleMessage } from "./internal/send-single-message.ts";

/** Every hold that stops a campaign also stops this automatic message. */
const forbidding: ReadonlySet<HoldReason> = new Set(hold_reasons);

const day_ms = 86_400_000;
/** A hold is lifted shortly after its end. */
const lift_ms = 5_000;

type Notice = { readonly phone: string; readonly campaign_id: number };

/**
 * Runs the job chat.notify_call: sends the account's call template, with its default variables, to
 * the customer for one chat credit, at most once, after the account's quiet time and after holds that end within a day. A
 * rejection reason is logged and the message is dropped.
 */
export const notifyCall: JobHandler = async (app, { account_id, payload }) => {
  const { phone, campaign_id } = payload as Notice;
  const done = await sendNotice(app, account_id, { phone, campaign_id }).catch((error: unknown) => {
    if (error instanceof Refusal) return error.message;
    throw error;
  });
  if (done instanceof Date) return { again_at: done };
  app.log.info({ account_id, campaign_id, outcome: done }, "the message beside a call");
  return undefined;
};

/** Returns the outcome, or when to try again. Errors: as validateCampaign and sendSingleMessage. */
async function sendNotice(
  app: App,
  accountId: Job["account_id"],
  { phone, campaign_id }: Notice,
): Promise<string | Date> {
  const now = app.clock.now();
  const account = await readAccount(app, accountId);
  const { call_notice_chat_number_id: chat_number_id, call_notice_template_id: template_id } =
    account;
  // The account may have lost it since.
  if (!account.features.includes("bulk_chat")) return "the account lacks the feature bulk_chat";
  if (chat_number_id === null || template_id === null)
    return "the account names no template for it";
  const quiet = quietUntil(account, now);
  if (quiet) return quiet;
  const head = { name: "Call", chat_number_id, template_id };
  const of = { id: accountId, time_zone: account.time_zone };
  const order = await validateCampaign(app.db.query, of, head, { has_recipients: true, now });
  const outreach = messageOutreach(categoryOf(order.plan));
  const isStopped = (db: Executor) =>
    isSuppressed(db, accountId, outreach, { phone }, app.clock.now());
  if (await isStopped(app.db.query)) return "the customer is suppressed";
  const held = await heldUntil(app, accountId, { chat_number_id, template_id }, now);
  if (held) return held;
  const message_id = makeCallNoticeId(accountId, campaign_id);
  const rendered = renderMessage(order.plan, null, message_id);
  if (!("message" in rendered)) return `no value for ${rendered.missing.join(", ")}`;
  const { outcome } = await sendSingleMessage(app, {
    account_id: accountId,
    order,
    to: phone,
    message_id,
    message: rendered.message,
    subject: `call_notice:${campaign_id}`,
    forbidding,
    isSuppressed: isStopped,
  });
  return outcome;
}

/** Returns when the message's holds will be over; null without holds, or if one of them may last for more than a day. */
async function heldUntil(
  app: App,
  accountId: number,
  { chat_number_id, template_id }: { chat_number_id: number; template_id: number },
  now: Date,
): Promise<Date | null> {
  const holds = await holdsOf(app.db.query, accountId, [
    { scope: "template", subject_id: template_id },
    { scope: "number", subject_id: chat_number_id },
    { scope: "account", subject_id: 0 },
  ]);
  if (holds.length === 0) return null;
  const ends_ms = holds.map(({ ends_at }) => (ends_at === null ? Infinity : Date.parse(ends_at)));
  const over_ms = Math.max(...ends_ms, now.getTime() + lift_ms);
  return over_ms - now.getTime() > day_ms ? null : new Date(over_ms);
}

function readAccount(app: App, accountId: number) {
  return app.db.query
    .selectFrom("accounts")
    .select([
      "features",
      "time_zone",
      "chat_quiet_from",
      "chat_quiet_to",
      "call_notice_chat_number_id",
      "call_notice_template_id",
    ])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
}
