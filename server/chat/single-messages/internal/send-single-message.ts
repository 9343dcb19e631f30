// Sends one message at once, outside of any campaign: only its credit, the effects of a failure and the recipient's alias
// are recorded here.
// Delivery statuses of answers are kept with their reply; those of test messages and chat notifications are dropped,
// except for an opt-out.
import { refundCredit, spendCredit } from "../../../credits/spend-credit.ts";
import {
  ChatSendError,
  type Accepted,
  type ChatDriverName,
  type ChatDriver,
  type Outgoing,
  type OutgoingMessage,
} from "../../../drivers/chat/driver.ts";
import { findChatDriver } from "../../credentials/chat-drivers.ts";
import type { App } from "../../../engine/app.ts";
import { statement, type Executor, type Tx } from "../../../lib/database/database.ts";
import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { Refusal } from "../../../lib/errors.ts";
import {
  applyFailureEffect,
  failureEffects,
  type FailureEffect,
} from "../../inbound/failure-effects.ts";
import { begin_ms_max } from "../../messages/begin-limit.ts";
import { decideAction } from "../../messages/error-actions.ts";
import { aliasOf, recordAliases, type PhoneAlias } from "../../messages/phone-alias.ts";
import { holdsOf, type HoldReason } from "../../holds/holds.ts";
import type { CampaignOrder } from "../../campaigns/validate-campaign.ts";
import type { TestMessageResponse } from "../test-message-schema.ts";
import { storeOutcome } from "./store-outcome.ts";

/** Short, because a person may be waiting for the response. */
const send_ms_max = 20_000;

export type SingleMessage = {
  readonly account_id: number;
  /** What it is sent from and with; the result of validateCampaign fits. */
  readonly order: Pick<CampaignOrder, "chat_number_id" | "template_id"> & {
    readonly mm_lite: Pick<CampaignOrder["mm_lite"], "used">;
  };
  /** E.164 digits, or a BSUID. */
  readonly to: string;
  readonly message_id: string;
  readonly message: OutgoingMessage;
  /** The subject of its credit reservation; under one subject a message is sent at most once. */
  readonly subject: string;
  /** Holds that stop it. */
  readonly forbidding: ReadonlySet<HoldReason>;
  /** True for an answer to a customer, which some restrictions of the number allow. */
  readonly is_answer?: boolean;
  /** Whether a suppression stops it, checked again after each wait. */
  readonly isSuppressed: (db: Executor) => Promise<boolean>;
  /** Runs in the transaction that reserves the credit, before the message is sent. */
  readonly note?: (tx: Tx) => Promise<void>;
  /** Stores the outcome after the message was sent; may run twice. */
  readonly record?: (answer: TestMessageResponse) => Promise<void>;
};

/**
 * Sends the message for one chat credit, which is refunded when the provider definitely rejected it or nothing was
 * sent. A failure has the same effects on others as a campaign's: holds and opt-outs. Errors, with nothing sent:
 * unavailable (no driver); conflict (held, suppressed, or already started under the same subject); insufficient-credit.
 * Once it is sent, nothing throws: what could not be stored is retried in the background.
 */
export async function sendSingleMessage(
  app: App,
  single: SingleMessage,
): Promise<TestMessageResponse> {
  const { account_id, order } = single;
  const sender = await openSender(app, account_id, order.chat_number_id);
  await refuseHeld(app, single);
  const { reservation_id, checked_at } = await reserve(app, single);
  const route = order.mm_lite.used ? "marketing" : "standard";
  const giveUp = AbortSignal.timeout(send_ms_max);
  const sent = await send(app, sender, single, { route, checked_at, giveUp });
  const { answer, effects, alias } = sent;
  const refund = () =>
    app.db.query.transaction().execute(async (tx) => {
      const now = app.clock.now();
      for (const effect of effects) await applyFailureEffect(tx, account_id, effect, now);
      await refundCredit(tx, account_id, reservation_id, now);
    });
  const about = { account_id, reservation_id, message_id: single.message_id };
  await Promise.all([
    alias && storeOutcome(app, about, () => recordAliases(app.db.pool, account_id, [alias])),
    answer.outcome === "failed" && storeOutcome(app, about, refund),
    single.record && storeOutcome(app, about, () => single.record!(answer)),
  ]);
  return answer;
}

/** Charges the message. `checked_at`: when its recipient was last known not to be suppressed (monotonic ms). */
function reserve(app: App, single: SingleMessage) {
  const { account_id, subject } = single;
  return app.db.query
    .transaction()
    .execute(async (tx) => {
      await single.note?.(tx);
      const of = { account_id, kind: "chat", subject } as const;
      const reservation_id = await spendCredit(tx, of, app.clock.now());
      // After the wait for the balance, in which an opt-out may have been applied.
      const checked_at = performance.now();
      if (await single.isSuppressed(tx)) throw new Refusal("conflict", "The person is suppressed");
      return { reservation_id, checked_at };
    })
    .catch((error: unknown) => refuseTwin(error, single));
}

type Sender = {
  readonly driver: ChatDriver;
  readonly from: Parameters<ChatDriver["send"]>[0];
  readonly marketing_onboarded: boolean;
};

async function openSender(app: App, accountId: number, numberId: number): Promise<Sender> {
  const number = await app.db.query
    .selectFrom("chat_numbers")
    .select(["driver", "provider_phone_number_id as phone_number_id", "business_account_id"])
    .select("marketing_onboarded")
    .where("account_id", "=", accountId)
    .where("id", "=", numberId)
    .executeTakeFirstOrThrow();
  const { driver: name, marketing_onboarded, ...from } = number;
  const driver = await findChatDriver(app, name as ChatDriverName, accountId);
  if (!driver) throw new Refusal("unavailable", `${name} is not configured on this server`);
  return { driver, from, marketing_onboarded };
}

async function refuseHeld(
  app: App,
  { account_id, order, forbidding, is_answer = false }: SingleMessage,
): Promise<void> {
  const { template_id, chat_number_id } = order;
  const holds = await holdsOf(app.db.query, account_id, [
    ...(template_id === null ? [] : [{ scope: "template", subject_id: template_id } as const]),
    { scope: "number", subject_id: chat_number_id },
    { scope: "account", subject_id: 0 },
  ]);
  const allowing = is_answer ? await findAllowing(app.db.pool, [account_id, chat_number_id]) : [];
  const held = holds.find(
    ({ scope, reason }) =>
      forbidding.has(reason) &&
      !allowing.some((one) => one.scope === scope && one.reason === reason),
  );
  if (held) throw new Refusal("conflict", `The ${held.scope} is held: ${held.reason}`);
}

const findAllowing = statement<{ scope: string; reason: string }>(`
  select scope, reason from chat_holds
  where account_id = $1 and scope = 'number' and subject_id = $2 and allows_answers`);

/** Maps a second reservation of a subject to a conflict. The first request may be running, or its process was killed. */
function refuseTwin(error: unknown, { is_answer = false }: SingleMessage): never {
  if (!violatesUnique(error, "credit_reservations_account_id_subject_key")) throw error;
  const advice = is_answer
    ? "check `answers` of the reply before you send it under a new key"
    : "under a new key it may be sent twice";
  throw new Refusal(
    "conflict",
    `This message was begun before under the same key and may have been sent; ${advice}`,
  );
}

type Attempt = {
  readonly route: Outgoing["route"];
  readonly checked_at: number;
  readonly giveUp: AbortSignal;
};

type Sent = {
  readonly answer: TestMessageResponse;
  /** Effects of a failure on others: holds and opt-outs. */
  readonly effects: readonly FailureEffect[];
  readonly alias: PhoneAlias | null;
};

/** Sends it, also by the marketing route if the provider requires that. */
async function send(
  app: App,
  sender: Sender,
  single: SingleMessage,
  attempt: Attempt,
): Promise<Sent> {
  const { message_id } = single;
  const nothing = { provider_message_id: null, error: null, error_code: null };
  try {
    const { provider_message_id, wa_id } = await sendInTime(app, sender, single, attempt);
    const answer = { ...nothing, message_id, outcome: "accepted", provider_message_id } as const;
    return { answer, effects: [], alias: aliasOf(single.to, wa_id) };
  } catch (error) {
    const isKnown = error instanceof ChatSendError;
    if (!isKnown)
      app.log.error({ err: error }, "a chat driver threw an error that is not a ChatSendError");
    const failure = isKnown ? error : new ChatSendError("unknown", "the driver failed");
    const { code } = failure;
    const action = decideAction(failure, { error: null, attempts: 0 }, 0, attempt.route);
    if (action.marketing_route && canTakeMarketing(sender, single, attempt)) {
      const again = { ...attempt, route: "marketing", checked_at: performance.now() } as const;
      if (await isAllowed(app, single)) return send(app, sender, single, again);
    }
    const outcome = action.state === "unknown" ? "unknown" : "failed";
    const answer = {
      ...nothing,
      message_id,
      outcome,
      error: action.error,
      error_code: code,
    } as const;
    const { chat_number_id, template_id } = single.order;
    const failed = { campaign_id: null, template_id, chat_number_id, phone: single.to, code };
    return { answer, effects: failureEffects(failed, action, app.clock.now()), alias: null };
  }
}

function canTakeMarketing(
  { marketing_onboarded }: Sender,
  { message }: SingleMessage,
  { route, giveUp }: Attempt,
): boolean {
  const isOther = message.kind === "template" && route === "standard";
  return isOther && marketing_onboarded && !giveUp.aborted;
}

/** Without the database the message fails, too: nothing was sent. */
async function isAllowed(app: App, single: SingleMessage): Promise<boolean> {
  return !(await single.isSuppressed(app.db.query).catch(() => true));
}

/**
 * Sends the message within 0.8 s of the check of its recipient. If that was too short, as for the first connection over
 * a slow network, checks and sends it again.
 */
async function sendInTime(
  app: App,
  { driver, from }: Sender,
  single: SingleMessage,
  { route, checked_at, giveUp }: Attempt,
): Promise<Accepted> {
  const { message_id, to, message } = single;
  let begin_by_ms = checked_at + begin_ms_max;
  for (;;) {
    try {
      return await driver.send(from, { message_id, to, message, route, begin_by_ms }, giveUp);
    } catch (error) {
      const isLate = error instanceof ChatSendError && error.failure === "late";
      if (!isLate || giveUp.aborted) throw error;
      begin_by_ms = performance.now() + begin_ms_max;
      if (!(await isAllowed(app, single))) throw error;
    }
  }
}
