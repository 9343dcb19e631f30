// Failures that the provider reports after it accepted the messages, from the webhook to the next message.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../../test/support/chat-factory.ts";
import {
  changeHook,
  openTestWhatsapp,
  statusHook,
  type TestStatus,
} from "../../../test/support/chat-webhooks.ts";
import { checkCampaigns, checkLedger } from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import type { Outgoing, TemplateStatus } from "../../drivers/chat/driver.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { default_settings } from "../../worker.ts";
import { drainCampaign } from "../campaigns/drain-campaign.ts";
import { openSenders } from "../sender/open-senders.ts";
import { setTemplateStatus } from "../templates/set-template-status.ts";
import { applyWebhooks } from "./apply-webhooks.ts";
import { endExpiredRestriction } from "./end-restriction.ts";

let api: TestApi;
/** Every message, in the order of sending; the provider accepts all. */
let sent: Outgoing[] = [];
/** Runs before the provider accepts a message. */
let onSend: (outgoing: Outgoing) => Promise<void> = async () => {};
let account: TestAccount;
let number: TestChatNumber;
let template_id: number;
let phones = 919_700_000_000;

before(async () => {
  const whatsapp = {
    ...openTestWhatsapp(),
    deleteTemplate: async () => {},
    async send(_: unknown, outgoing: Outgoing) {
      sent.push(outgoing);
      await onSend(outgoing);
      return { provider_message_id: `wamid.${outgoing.message_id}` };
    },
  };
  api = await startApi({ chatDrivers: { whatsapp } });
});
after(() => api.close());

/** Makes an account with a number and a template. */
async function open(t: { after(undo: () => void): void }) {
  t.after(() => api.clock.release());
  sent = [];
  onSend = async () => {};
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 1_000 });
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
}

function campaignOf(recipients: number): Promise<number> {
  const made = Array.from({ length: recipients }, () => ({ phone: String(++phones) }));
  return makeChatCampaign(api.app, account, number, template_id, made);
}

/** The messages of a campaign's recipients in their order: they are sent side by side. */
const inOrder = () => sent.toSorted((a, b) => Number(a.to) - Number(b.to));

/** Runs senders until every message that is due is sent. */
async function send(messages: number): Promise<void> {
  const senders = openSenders(api.app, default_settings);
  const expected = sent.length + messages;
  await senders.startDue();
  await eventually(() => sent.length >= expected);
  await senders.stop();
  assert.equal(sent.length, expected);
}

/** Reports a status of each message; returns after it is applied. */
async function report(
  messages: readonly Outgoing[],
  status: TestStatus["status"],
  code?: number,
  at?: Date,
): Promise<void> {
  const statuses = messages.map(({ message_id }) => ({
    id: `wamid.${message_id}`,
    message_id,
    status,
    ...(code === undefined ? {} : { code }),
    ...(at === undefined ? {} : { at }),
  }));
  await api.app.webhookReceiver.take("whatsapp", statusHook(number, statuses));
  await apply();
}

const apply = () => applyWebhooks(api.app, new AbortController().signal);

async function recordOf(campaign: number) {
  const { body } = await api.send("GET", `/api/v1/chat/campaigns/${campaign}`, {
    token: account.token,
  });
  return body as {
    status: string;
    paused_reason: string | null;
    counts: Record<string, number>;
    sent_count: number;
    pending_count: number;
    failed_count: number;
  };
}

const holds = async () => {
  const { body } = await api.send("GET", "/api/v1/chat/holds", { token: account.token });
  return (body.data as { scope: string; subject_id: number; reason: string; detail: string }[]).map(
    ({ scope, subject_id, reason }) => ({ scope, subject_id, reason }),
  );
};

const recipientsOf = (campaign: number) =>
  api.app.db.query
    .selectFrom("chat_recipients")
    .selectAll()
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign)
    .orderBy("id")
    .execute();

const available = async () => {
  const row = await api.app.db.query
    .selectFrom("credit_balances")
    .select("available")
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "chat")
    .executeTakeFirstOrThrow();
  return row.available;
};

const eventsOf = async () => {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account.account_id)
    .orderBy("id")
    .execute();
  return rows.map(({ type }) => type);
};

/** Gives the template a status, as an event of the provider does. */
const setStatus = (status: TemplateStatus, at = new Date()) =>
  api.app.db.query
    .transaction()
    .execute((tx) =>
      setTemplateStatus(
        tx,
        { account_id: account.account_id, template_id },
        { status, at },
        new Date(),
      ),
    );

/** Reports the only message of a completed campaign as failed; requires that the failure is final and refunded. */
async function reportFinalFailure(campaign: number): Promise<void> {
  await report(sent, "failed", 131049);
  const states = (await recipientsOf(campaign)).map(({ state, error }) => [state, error]);
  assert.deepEqual(states, [["undelivered", "frequency_capped"]]);
  assert.equal((await recordOf(campaign)).status, "completed");
  assert.equal(await available(), 1_000);
  await checkInvariants();
}

async function checkInvariants() {
  await checkLedger(api.app.db.pool);
  await checkCampaigns(api.app.db.pool);
}

const heldAfter = (code: number) =>
  test(`messages that fail with ${code} after they were accepted hold their number, and go out once it is released`, async (t) => {
    await open(t);
    const reason = "sender_restricted";
    const id = await campaignOf(40);
    await send(40);
    const first = [...sent];
    await report(first.slice(0, 20), "failed", code);
    await report(first.slice(20), "failed", code);
    assert.deepEqual(await holds(), [{ scope: "number", subject_id: number.id, reason }]);
    const paused = await recordOf(id);
    assert.deepEqual(
      [paused.status, paused.paused_reason, paused.pending_count, paused.failed_count],
      ["paused", reason, 40, 0],
    );
    assert.equal(await available(), 960);
    await checkInvariants();
    const lifted = await api.send("POST", "/api/v1/chat/holds/lift", {
      token: account.token,
      json: { scope: "number", subject_id: number.id, reason },
    });
    assert.equal(lifted.status, 204, lifted.text);
    await send(40);
    const ids = new Set(sent.map(({ message_id }) => message_id));
    assert.equal(ids.size, 80, "no message ID is used twice");
    await report(sent.slice(40), "delivered");
    const done = await recordOf(id);
    assert.deepEqual([done.status, done.counts["delivered"]], ["completed", 40]);
    assert.equal(await available(), 960);
    await checkInvariants();
    // A repeated webhook about the first messages neither holds nor sends anything.
    await report(first, "failed", code);
    assert.deepEqual(await holds(), []);
    assert.equal((await recordOf(id)).counts["delivered"], 40);
  });
for (const code of [131042, 131048]) void heldAfter(code);

test("a payment problem of a business account holds its numbers, and neither the sandbox nor another account's", async (t) => {
  await open(t);
  await makeChatNumber(api.app, account);
  await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const sibling = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  await api.app.db.query
    .updateTable("chat_numbers")
    .set({ business_account_id: number.business_account_id })
    .where("account_id", "=", account.account_id)
    .where("id", "=", sibling.id)
    .execute();
  await campaignOf(1);
  await send(1);
  await report(sent, "failed", 131042);
  assert.deepEqual(
    await holds(),
    [number.id, sibling.id].map((subject_id) => ({
      scope: "number",
      subject_id,
      reason: "sender_restricted",
    })),
  );
});

test("a frequency cap that is reported later is retried a day after, three times in all, and refunded", async (t) => {
  await open(t);
  const id = await campaignOf(1);
  api.clock.set(new Date());
  for (const attempt of [1, 2, 3]) {
    await send(1);
    assert.equal((await recordOf(id)).status, "completed");
    await report(sent.slice(-1), "failed", 131049);
    const [recipient] = await recipientsOf(id);
    if (attempt === 3) break;
    assert.equal((await recordOf(id)).status, "running");
    assert.deepEqual([recipient!.state, recipient!.attempts], ["deferred", attempt]);
    assert.equal(recipient!.due_at!.getTime(), api.clock.now().getTime() + 86_400_000);
    assert.equal(await available(), 999);
    await checkInvariants();
    api.clock.advance(86_400_000);
  }
  const [recipient] = await recipientsOf(id);
  assert.deepEqual([recipient!.state, recipient!.error], ["undelivered", "frequency_capped"]);
  assert.equal(await available(), 1_000);
  assert.equal((await recordOf(id)).status, "completed");
  assert.deepEqual(
    (await eventsOf()).filter((type) => type.startsWith("chat.campaign.")),
    ["completed", "resumed", "completed", "resumed", "completed"].map(
      (event) => `chat.campaign.${event}`,
    ),
  );
  await checkInvariants();
});

test("a failure that is reported after the recipient was erased is final, and refunded", async (t) => {
  await open(t);
  const id = await campaignOf(2);
  await send(2);
  const [erased] = await recipientsOf(id);
  // As an erasure does, which keeps the state.
  await api.app.db.query
    .updateTable("chat_recipients")
    .set({ phone: "", bsuid: null, variables: null, provider_message_id: `erased.${id}.1` })
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", id)
    .where("id", "=", erased!.id)
    .execute();
  await report(sent, "failed", 131049);
  const states = (await recipientsOf(id)).map(({ state, error }) => [state, error]);
  assert.deepEqual(states, [
    ["undelivered", "frequency_capped"],
    ["deferred", "frequency_capped"],
  ]);
  assert.equal(await available(), 999);
  await checkInvariants();
});

test("a failure does not reopen a completed campaign whose number is inactive, and is refunded", async (t) => {
  await open(t);
  const id = await campaignOf(1);
  await send(1);
  const deactivated = await api.send("PATCH", `/api/v1/chat/numbers/${number.id}`, {
    token: account.token,
    json: { active: false },
  });
  assert.equal(deactivated.status, 200);
  await reportFinalFailure(id);
});

test("a failure does not reopen a completed campaign whose template is deleted, and is refunded", async (t) => {
  await open(t);
  const id = await campaignOf(1);
  await send(1);
  const deleted = await api.send("DELETE", `/api/v1/chat/templates/${template_id}`, {
    token: account.token,
  });
  assert.equal(deleted.status, 204, deleted.text);
  await reportFinalFailure(id);
});

for (const status of ["DISABLED", "REJECTED"] as const)
  void test(`a failure does not reopen a completed campaign whose template is ${status}, and is refunded`, async (t) => {
    await open(t);
    const id = await campaignOf(1);
    await send(1);
    await setStatus(status);
    await reportFinalFailure(id);
  });

test("a failure reopens a completed campaign whose template is paused, and waits for it", async (t) => {
  await open(t);
  const id = await campaignOf(1);
  await send(1);
  await setStatus("PAUSED");
  await report(sent, "failed", 131049);
  const { status, paused_reason, pending_count } = await recordOf(id);
  assert.deepEqual([status, paused_reason, pending_count], ["paused", "template_paused", 1]);
  await checkInvariants();
});

test("a paused template that a status reports late holds nothing if the template was approved since, and otherwise holds it", async (t) => {
  await open(t);
  const id = await campaignOf(2);
  await send(2);
  const approved_at = new Date();
  await setStatus("APPROVED", approved_at);
  const [first, second] = inOrder() as [Outgoing, Outgoing];
  const pausedAt = (seconds: number) => new Date(approved_at.getTime() + seconds * 1_000);
  await report([first], "failed", 132015, pausedAt(-10_800));
  assert.deepEqual(await holds(), []);
  assert.equal((await recordOf(id)).status, "running");
  await report([second], "failed", 132015, pausedAt(10));
  const held = { scope: "template", subject_id: template_id, reason: "template_paused" };
  assert.deepEqual(await holds(), [held]);
});

const secondsFrom = (time: Date, seconds: number) => new Date(time.getTime() + seconds * 1_000);

async function liftByHand(scope: "number" | "template", subject_id: number, reason: string) {
  const lifted = await api.send("POST", "/api/v1/chat/holds/lift", {
    token: account.token,
    json: { scope, subject_id, reason },
  });
  assert.equal(lifted.status, 204, lifted.text);
}

/** Reports the business account's standing, and returns its time. */
async function reportStanding(value: object): Promise<Date> {
  const hook = changeHook(number, "account_update", value);
  await api.app.webhookReceiver.take("whatsapp", hook);
  await apply();
  const { standing_at } = await api.app.db.query
    .selectFrom("chat_numbers")
    .select("standing_at")
    .where("account_id", "=", account.account_id)
    .where("id", "=", number.id)
    .executeTakeFirstOrThrow();
  assert.ok(standing_at);
  return standing_at;
}

const endsWithReinstatement = (code: number) =>
  test(`a failure with ${code} from before a reinstatement holds nothing, and one from after it holds the number`, async (t) => {
    await open(t);
    const id = await campaignOf(2);
    await send(2);
    const [first, second] = inOrder() as [Outgoing, Outgoing];
    const at = await reportStanding({
      event: "DISABLED_UPDATE",
      ban_info: { waba_ban_state: "REINSTATE" },
    });
    await report([first], "failed", code, secondsFrom(at, -60));
    assert.deepEqual(await holds(), []);
    assert.equal((await recordOf(id)).status, "running");
    await report([second], "failed", code, secondsFrom(at, 60));
    const held = { scope: "number", subject_id: number.id, reason: "sender_restricted" };
    assert.deepEqual(await holds(), [held]);
  });
for (const code of [131031, 131042, 131048]) void endsWithReinstatement(code);

test("a failure from before the end of a restriction that has expired holds nothing", async (t) => {
  await open(t);
  api.clock.set(new Date());
  await campaignOf(2);
  await send(2);
  const [first, second] = inOrder() as [Outgoing, Outgoing];
  const expiration = Math.floor(api.clock.now().getTime() / 1_000) + 3_600;
  const ended_at = new Date(expiration * 1_000);
  await reportStanding({
    event: "ACCOUNT_RESTRICTION",
    restriction_info: [{ restriction_type: "RESTRICTED_BIZ_INITIATED_MESSAGING", expiration }],
  });
  api.clock.set(secondsFrom(ended_at, 7_200));
  const handlers = { "chat.end_restriction": endExpiredRestriction };
  await workJobs(api.app, handlers, new AbortController().signal);
  await report([first], "failed", 131031, secondsFrom(ended_at, -60));
  assert.deepEqual(await holds(), []);
  await report([second], "failed", 131031, secondsFrom(ended_at, 60));
  assert.equal((await holds()).length, 1);
});

const staysLifted = (code: number, scope: "number" | "template", reason: string) =>
  test(`a failure with ${code} from before a person lifted its hold holds nothing, and one from after it holds the ${scope} again`, async (t) => {
    await open(t);
    await campaignOf(3);
    await send(3);
    const [first, second, third] = inOrder() as [Outgoing, Outgoing, Outgoing];
    const lifted_at = new Date();
    await report([first], "failed", code, secondsFrom(lifted_at, -120));
    const subject_id = scope === "number" ? number.id : template_id;
    assert.deepEqual(await holds(), [{ scope, subject_id, reason }]);
    await liftByHand(scope, subject_id, reason);
    await report([second], "failed", code, secondsFrom(lifted_at, -60));
    assert.deepEqual(await holds(), []);
    await report([third], "failed", code, secondsFrom(lifted_at, 60));
    assert.deepEqual(await holds(), [{ scope, subject_id, reason }]);
  });
void staysLifted(131048, "number", "sender_restricted");
void staysLifted(131005, "number", "auth");
void staysLifted(132015, "template", "template_paused");

/** Takes a change of the business account that happened at this time. */
async function takeChange(field: string, value: object, at: Date): Promise<void> {
  const hook = JSON.parse(changeHook(number, field, value));
  hook.entry[0].time = Math.floor(at.getTime() / 1_000);
  await api.app.webhookReceiver.take("whatsapp", JSON.stringify(hook));
  await apply();
}

test("a repeated report of a restriction or a paused template does not set the hold again that a person has lifted", async (t) => {
  await open(t);
  const at = secondsFrom(new Date(), -60);
  const { provider_template_id } = await api.app.db.query
    .selectFrom("chat_templates")
    .select("provider_template_id")
    .where("account_id", "=", account.account_id)
    .where("id", "=", template_id)
    .executeTakeFirstOrThrow();
  const paused = { event: "PAUSED", message_template_id: provider_template_id };
  const banned = { event: "DISABLED_UPDATE", ban_info: { waba_ban_state: "DISABLE" } };
  for (const [field, value, held] of [
    [
      "account_update",
      banned,
      { scope: "number", subject_id: number.id, reason: "sender_restricted" },
    ],
    [
      "message_template_status_update",
      paused,
      { scope: "template", subject_id: template_id, reason: "template_paused" },
    ],
  ] as const) {
    await takeChange(field, value, at);
    assert.deepEqual(await holds(), [held]);
    await liftByHand(held.scope, held.subject_id, held.reason);
    await takeChange(field, value, at);
    assert.deepEqual(await holds(), []);
    await takeChange(field, value, secondsFrom(new Date(), 60));
    assert.deepEqual(await holds(), [held]);
    await liftByHand(held.scope, held.subject_id, held.reason);
  }
});

test("lifting one kind of hold does not keep another from being set", async (t) => {
  await open(t);
  await campaignOf(2);
  await send(2);
  const [first, second] = inOrder() as [Outgoing, Outgoing];
  const at = new Date();
  await report([first], "failed", 131005, at);
  await liftByHand("number", number.id, "auth");
  await report([second], "failed", 131048, secondsFrom(at, -60));
  const held = { scope: "number", subject_id: number.id, reason: "sender_restricted" };
  assert.deepEqual(await holds(), [held]);
});

test("failures of one batch hold their template as of the latest of them", async (t) => {
  await open(t);
  await campaignOf(3);
  await send(3);
  const approved_at = new Date();
  await setStatus("APPROVED", approved_at);
  const statuses = sent.map(({ message_id }, i) => ({
    id: `wamid.${message_id}`,
    message_id,
    status: "failed" as const,
    code: 132015,
    at: new Date(approved_at.getTime() + [-10_000, 10_000, -10_000][i]!),
  }));
  await api.app.webhookReceiver.take("whatsapp", statusHook(number, statuses));
  await apply();
  assert.equal((await holds()).length, 1);
});

test("a failure after which a device may have the message is final, and refunded", async (t) => {
  await open(t);
  const id = await campaignOf(3);
  await send(3);
  for (const [i, code] of [131026, 131000, 999_999].entries())
    await report([inOrder()[i]!], "failed", code);
  const states = (await recipientsOf(id)).map(({ state, error }) => [state, error]);
  assert.deepEqual(states, [
    ["undelivered", "undeliverable"],
    ["undelivered", "provider_error"],
    ["undelivered", "provider_error"],
  ]);
  assert.equal(await available(), 1_000);
  await checkInvariants();
});

test("a message that was reported as sent is not retried, before, with or after its failure", async (t) => {
  await open(t);
  const id = await campaignOf(3);
  await send(3);
  const [before_it, with_it, after_it] = inOrder() as [Outgoing, Outgoing, Outgoing];
  await report([before_it], "sent");
  await report([before_it], "failed", 131049);
  const of = ({ message_id }: Outgoing) => ({ id: `wamid.${message_id}`, message_id });
  await api.app.webhookReceiver.take(
    "whatsapp",
    statusHook(number, [
      { ...of(with_it), status: "failed", code: 131049 },
      { ...of(with_it), status: "sent" },
    ]),
  );
  await apply();
  await report([after_it], "failed", 131049);
  await report([after_it], "sent");
  const states = (await recipientsOf(id)).map(({ state, charged }) => [state, charged]);
  assert.deepEqual(states, [
    ["undelivered", false],
    ["undelivered", false],
    ["sent", true],
  ]);
  assert.equal((await recordOf(id)).status, "completed");
  await checkInvariants();
});

test("a delivery that is reported after a failure ends the retry", async (t) => {
  await open(t);
  const id = await campaignOf(1);
  await send(1);
  await report(sent, "failed", 131049);
  await report(sent, "delivered");
  const [recipient] = await recipientsOf(id);
  assert.deepEqual([recipient!.state, recipient!.charged], ["delivered", true]);
  assert.equal((await recordOf(id)).status, "completed");
  await checkInvariants();
});

test("a failure that is reported after the campaign was cancelled is final, and refunded", async (t) => {
  await open(t);
  const id = await campaignOf(2);
  await send(2);
  await report([inOrder()[0]!], "failed", 131049);
  const cancelled = await api.send("POST", `/api/v1/chat/campaigns/${id}/cancel`, {
    token: account.token,
  });
  assert.equal(cancelled.status, 200, cancelled.text);
  await report([inOrder()[1]!], "failed", 131049);
  await workJobs(api.app, { "chat.drain_campaign": drainCampaign }, new AbortController().signal);
  const states = (await recipientsOf(id)).map(({ state, charged }) => [state, charged]);
  assert.deepEqual(states, [
    ["cancelled", false],
    ["undelivered", false],
  ]);
  assert.equal(await available(), 1_000);
  assert.equal((await recordOf(id)).status, "cancelled");
  await checkInvariants();
});

test("a retry that is under way when the first response arrives is not sent again", async (t) => {
  await open(t);
  const id = await campaignOf(1);
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onSend = async ({ message_id }) => {
    const gate = gates[sent.length - 1];
    if (sent.length === 1) {
      const failed = { id: `wamid.${message_id}`, message_id, status: "failed" } as const;
      await api.app.webhookReceiver.take(
        "whatsapp",
        statusHook(number, [{ ...failed, code: 131063 }]),
      );
      await apply();
    }
    await gate?.promise;
  };
  const senders = openSenders(api.app, default_settings);
  t.after(() => senders.stop());
  await senders.startDue();
  await eventually(() => sent.length === 2);
  gates[0]!.resolve();
  // The sender compares what it sends with what is marked once a second.
  const until = performance.now() + 2_500;
  await eventually(() => performance.now() > until);
  gates[1]!.resolve();
  await eventually(async () => (await recordOf(id)).status === "completed");
  const [recipient] = await recipientsOf(id);
  assert.equal(sent.length, 2);
  assert.equal(recipient!.provider_message_id, `wamid.${sent[1]!.message_id}`);
  await checkInvariants();
});

const pausesOn = (code: number, pauses: boolean) =>
  test(`a campaign ${pauses ? "pauses" : "does not pause"} when a quarter of its messages are reported as failed with ${code}`, async (t) => {
    await open(t);
    await api.app.db.query
      .updateTable("chat_numbers")
      .set({ rate_per_second: 200 })
      .where("account_id", "=", account.account_id)
      .execute();
    const id = await campaignOf(500);
    onSend = async (outgoing) => {
      if (sent.length % 4 > 0) return;
      const { message_id } = outgoing;
      const failed = { id: `wamid.${message_id}`, message_id, status: "failed", code } as const;
      await api.app.webhookReceiver.take("whatsapp", statusHook(number, [failed]));
    };
    const senders = openSenders(api.app, default_settings);
    t.after(() => senders.stop());
    await senders.startDue();
    const end = pauses ? "paused" : "completed";
    await eventually(async () => {
      await apply();
      return (await recordOf(id)).status === end;
    });
    assert.equal((await recordOf(id)).paused_reason, pauses ? "error_threshold" : null);
    assert.equal(sent.length < 500, pauses);
  });
void pausesOn(131026, false);
void pausesOn(999_999, true);
