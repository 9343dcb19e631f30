// One message at once, to see a template or a flow as the customer does. It belongs to no campaign:
// nothing but its credit and its audit entry is kept, and the provider's reports on it are let go.
import { createHash, randomUUID } from "node:crypto";
import type { Caller } from "../accounts/caller.ts";
import { recordAudit, type Actor } from "../accounts/record-audit.ts";
import { isSuppressed } from "../audience/suppressions.ts";
import { refundCredit, spendCredit } from "../credits/spend-credit.ts";
import { ChatSendError, type ChatDriver, type Outgoing } from "../drivers/chat/driver.ts";
import type { App } from "../engine/app.ts";
import { openPhoneReader } from "../lib/chat-phone-numbers.ts";
import { violatesUnique } from "../lib/database-errors.ts";
import { invalid, invalidField, Refusal } from "../lib/errors.ts";
import { decideAction } from "./error-actions.ts";
import { holdsOf } from "./holds.ts";
import { judgeCampaign, type CampaignOrder } from "./judge-campaign.ts";
import { renderMessage } from "./render-message.ts";
import type { TestMessage, TestMessageAnswer } from "./test-message-schema.ts";

/** A person waits for the answer. */
const send_ms_max = 20_000;

/** Holds that the provider would answer with an error: a pause by hand or a quiet time stops no test. */
const forbidding: ReadonlySet<string> = new Set(["auth", "sender_restricted", "template_paused"]);

const readPhone = openPhoneReader({ valid_only: false });

/** Who sends it; under a `key` of theirs it is sent at most once. */
export type Tester = {
  readonly account: Caller["account"];
  readonly actor: Actor;
  readonly key: string | null;
};

/**
 * Sends it for one chat credit, which is given back when it was certainly not taken. Refuses:
 * bad-request and validation-failed as campaign creation does; validation-failed (suppressed, variables);
 * conflict (held, or begun under the same key); insufficient-credit; unavailable (no driver).
 */
export async function sendTestMessage(
  app: App,
  tester: Tester,
  input: TestMessage,
): Promise<TestMessageAnswer> {
  const { account, actor, key } = tester;
  const now = app.clock.now();
  const { order, to } = await judgeTest(app, account, input, now);
  const uuid = key === null ? randomUUID() : uuidOf(account.id, key);
  const message_id = `test.${uuid}`;
  const message = renderTest(order, input, message_id);
  const { driver, from } = await openSender(app, account.id, order.chat_number_id);
  await refuseHeld(app, account.id, order);
  const subject = `chat_test:${uuid}`;
  const reservation_id = await app.db.query
    .transaction()
    .execute(async (tx) => {
      const { chat_number_id, template_id, flow_id, automation_flow_id } = order;
      await recordAudit(tx, actor, {
        at: now,
        action: "chat_test.sent",
        subject_id: uuid,
        detail: { chat_number_id, template_id, flow_id, automation_flow_id },
      });
      return spendCredit(tx, { account_id: account.id, kind: "chat", subject }, now);
    })
    .catch(refuseTwin);
  const route = order.mm_lite.used ? "marketing" : "standard";
  const answer = await send(app, driver, from, { message_id, to, message, route });
  if (answer.outcome === "failed")
    await refundCredit(app.db.pool, account.id, reservation_id, app.clock.now());
  return answer;
}

async function judgeTest(
  app: App,
  account: Caller["account"],
  input: TestMessage,
  now: Date,
): Promise<{ order: CampaignOrder; to: string }> {
  const { phone_number, variables: _, ...named } = input;
  const head = { ...named, name: "Test" };
  const order = await judgeCampaign(app.db.query, account, head, { has_recipients: true, now });
  const to = readPhone(phone_number);
  if (to === null) throw invalidField("phone_number", "is no phone number with its country code");
  if (await isSuppressed(app.db.query, account.id, "chat", to, now))
    throw invalidField("phone_number", "is suppressed");
  return { order, to };
}

/** Without a value for a placeholder the provider would refuse it: told before it costs anything. */
function renderTest({ plan }: CampaignOrder, input: TestMessage, messageId: string) {
  const rendered = renderMessage(plan, input.variables ?? null, messageId);
  if ("message" in rendered) return rendered.message;
  throw invalid(
    rendered.missing.map((name) => ({ field: `variables.${name}`, reason: "is required" })),
  );
}

type From = Parameters<ChatDriver["send"]>[0];

async function openSender(
  app: App,
  accountId: number,
  numberId: number,
): Promise<{ driver: ChatDriver; from: From }> {
  const number = await app.db.query
    .selectFrom("chat_numbers")
    .select(["driver", "provider_phone_number_id as phone_number_id", "business_account_id"])
    .where("account_id", "=", accountId)
    .where("id", "=", numberId)
    .executeTakeFirstOrThrow();
  const { driver: name, ...from } = number;
  const driver = app.chatDrivers[name as keyof App["chatDrivers"]];
  if (!driver) throw new Refusal("unavailable", `This server is not set up to send by ${name}`);
  return { driver, from };
}

async function refuseHeld(app: App, accountId: number, order: CampaignOrder): Promise<void> {
  const { template_id, chat_number_id } = order;
  const holds = await holdsOf(app.db.query, accountId, [
    ...(template_id === null ? [] : [{ scope: "template", subject_id: template_id } as const]),
    { scope: "number", subject_id: chat_number_id },
    { scope: "account", subject_id: 0 },
  ]);
  const held = holds.find(({ reason }) => forbidding.has(reason));
  if (held) throw new Refusal("conflict", `The ${held.scope} is held: ${held.reason}`);
}

/** The same key always makes the same subject, which has one reservation. */
function refuseTwin(error: unknown): never {
  if (violatesUnique(error, "credit_reservations_account_id_subject_key"))
    throw new Refusal(
      "conflict",
      "A test message was begun under this Idempotency-Key, and what became of it is not known yet",
    );
  throw error;
}

/** A name-based UUID (version 8) of an account's key. */
function uuidOf(accountId: number, key: string): string {
  const hex = createHash("sha256").update(`${accountId}:${key}`).digest("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}

async function send(
  app: App,
  driver: ChatDriver,
  from: From,
  outgoing: Outgoing,
): Promise<TestMessageAnswer> {
  const { message_id } = outgoing;
  const nothing = { provider_message_id: null, error: null, error_code: null };
  try {
    const giveUp = AbortSignal.timeout(send_ms_max);
    const { provider_message_id } = await driver.send(from, outgoing, giveUp);
    return { ...nothing, message_id, outcome: "accepted", provider_message_id };
  } catch (error) {
    const isKnown = error instanceof ChatSendError;
    if (!isKnown) app.log.error({ err: error }, "a chat driver threw what is no ChatSendError");
    const failure = isKnown ? error : new ChatSendError("unknown", "the driver failed");
    const { error: word, state } = decideAction(failure, { error: null, attempts: 0 }, 0);
    const outcome = state === "unknown" ? "unknown" : "failed";
    return { ...nothing, message_id, outcome, error: word, error_code: failure.code };
  }
}
