// Sends a test message at once, to show a template or a flow as the customer sees it, and records an
// audit entry.
import { lockUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import type { Caller } from "../../accounts/caller.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { isSuppressed, messageOutreach } from "../../audience/suppressions/suppressions.ts";
import type { App } from "../../engine/app.ts";
import { identityOf, parseBsuid } from "../../lib/bsuid.ts";
import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import type { Executor } from "../../lib/database/database.ts";
import { invalid, invalidField } from "../../lib/errors.ts";
import type { HoldReason } from "../holds/holds.ts";
import { validateCampaign, type CampaignOrder } from "../campaigns/validate-campaign.ts";
import { makeTestId } from "../messages/message-id.ts";
import { categoryOf } from "../messages/message-plan.ts";
import { renderMessage } from "../messages/render-message.ts";
import { sendSingleMessage } from "./internal/send-single-message.ts";
import { singleMessageUuid } from "./internal/single-message-id.ts";
import type { TestMessage, TestMessageResponse } from "./test-message-schema.ts";

/** Holds under which the provider would reject the message; a manual pause or quiet time stops no test. */
const forbidding: ReadonlySet<HoldReason> = new Set([
  "auth",
  "sender_restricted",
  "throttled",
  "template_paused",
]);

const readPhone = openPhoneReader({ valid_only: false });

/** The sender; under one `key` of an account the message is sent at most once. */
export type Tester = {
  readonly account: Caller["account"];
  readonly actor: Actor;
  readonly key: string | null;
};

/**
 * Sends it for one chat credit, which is refunded when the provider definitely rejected it. Errors:
 * bad-request and validation-failed as campaign creation does; validation-failed (suppressed, variables);
 * conflict (held, or already started under the same key); insufficient-credit; unavailable (no driver, or frozen).
 */
export async function sendTestMessage(
  app: App,
  tester: Tester,
  input: TestMessage,
): Promise<TestMessageResponse> {
  const { account, actor, key } = tester;
  const now = app.clock.now();
  const { order, to, isStopped } = await validateTest(app, account, input, now);
  const uuid = singleMessageUuid(account.id, key);
  const message_id = makeTestId(uuid);
  const message = renderTest(order, input, message_id);
  const { chat_number_id, template_id, flow_id, automation_flow_id } = order;
  return sendSingleMessage(app, {
    account_id: account.id,
    order,
    to,
    message_id,
    message,
    subject: `chat_test:${uuid}`,
    forbidding,
    isSuppressed: isStopped,
    note: async (tx) => {
      await lockUnfrozen(tx, account.id);
      await recordAudit(tx, actor, {
        at: now,
        action: "chat_test.sent",
        subject_id: uuid,
        detail: { chat_number_id, template_id, flow_id, automation_flow_id },
      });
    },
  });
}

async function validateTest(app: App, account: Caller["account"], input: TestMessage, now: Date) {
  const { phone_number, variables: _, ...named } = input;
  const head = { ...named, name: "Test" };
  const order = await validateCampaign(app.db.query, account, head, { has_recipients: true, now });
  const to = parseBsuid(phone_number) ?? readPhone(phone_number);
  if (to === null)
    throw invalidField("phone_number", "must be a phone number with its country code");
  const outreach = messageOutreach(categoryOf(order.plan));
  const isStopped = (db: Executor) =>
    isSuppressed(db, account.id, outreach, identityOf(to), app.clock.now());
  if (await isStopped(app.db.query)) throw invalidField("phone_number", "is suppressed");
  return { order, to, isStopped };
}

/**
 * Rejects a missing value for a placeholder before credit is reserved, because the provider would.
 */
function renderTest({ plan }: CampaignOrder, input: TestMessage, messageId: string) {
  const rendered = renderMessage(plan, input.variables ?? null, messageId);
  if ("message" in rendered) return rendered.message;
  throw invalid(
    rendered.missing.map((name) => ({ field: `variables.${name}`, reason: "is required" })),
  );
}
