// A retry of failed recipients, as the provider sees it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { checkCampaigns, checkLedger } from "../../../test/support/check-invariants.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  openChatFixture,
  startChatFixtureApi,
  takeMessage,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { unique } from "../../../test/support/account-factory.ts";
import { linkBsuids } from "../../audience/suppressions/link-bsuids.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { hold } from "../holds/holds.ts";
import { completeChatCampaigns } from "./complete-chat-campaigns.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

const retry = (
  { api, account }: ChatFixture,
  id: number,
  json: unknown = {},
  key: string | null = unique("key"),
) =>
  api.send("POST", `/api/v1/chat/campaigns/${id}/retry`, {
    token: account.token,
    json,
    ...(key === null ? {} : { headers: { "idempotency-key": key } }),
  });

const detail = async (fixture: ChatFixture, id: number) =>
  (await fixture.ask("GET", `/${id}`)).body;

/** Runs senders until the campaign has this status. */
async function sendUntil(fixture: ChatFixture, id: number, status: string): Promise<void> {
  const senders = fixture.startSenders();
  await eventually(async () => {
    await fixture.workJobs();
    const found = await detail(fixture, id);
    return found.status === status && (status !== "failed" || found.finished_at !== null);
  });
  await senders.stop();
}

const phone = (i: number) => `9198765432${String(i).padStart(2, "0")}`;

/** Refuses the phones with these error codes and accepts all others. */
function refuse({ provider }: ChatFixture, codes: Readonly<Record<string, number>>): void {
  provider.answer = async (outgoing) => {
    const code = codes[outgoing.to];
    if (code !== undefined) throw new ChatSendError("rejected", "no", { code });
    return takeMessage(outgoing);
  };
}

/**
 * Moves a recipient as a delivery status of its last message does, or of another dispatch, and returns the dispatch. On a
 * slow database the message is not always of its first dispatch: one that cannot begin in time returns to the queue.
 */
async function report(
  { app, account }: ChatFixture,
  campaign_id: number,
  to: string,
  move: { state: string; error?: string; provider_message_id?: string; dispatches?: number },
): Promise<number> {
  const { id, dispatches } = await app.db.query
    .selectFrom("chat_recipients")
    .select(["id", "dispatches"])
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .where("phone", "=", to)
    .executeTakeFirstOrThrow();
  await app.db.pool.query("select from chat_move_recipients_json($1, 'inbound', $2, $3)", [
    account.account_id,
    JSON.stringify([{ campaign_id, id, dispatches, ...move }]),
    app.clock.now(),
  ]);
  return move.dispatches ?? dispatches;
}

async function checkInvariants({ app }: ChatFixture): Promise<void> {
  await checkCampaigns(app.db.pool);
  await checkLedger(app.db.pool);
}

test("a retry sends only to failed recipients with the named error, as new messages with credit of their own", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider } = fixture;
  refuse(fixture, { [phone(1)]: 131026, [phone(2)]: 131008 });
  const id = await fixture.campaign([0, 1, 2, 3].map((i) => ({ phone: phone(i) })));
  await sendUntil(fixture, id, "completed");
  await report(fixture, id, phone(3), {
    state: "undelivered",
    error: "undeliverable",
  });
  assert.equal((await detail(fixture, id)).failed_count, 3);
  const recipients = async () =>
    (await fixture.ask("GET", `/${id}/recipients`)).body.data as Record<string, unknown>[];
  const earlier = (await recipients()).map(({ attempts }) => Number(attempts));

  provider.answer = takeMessage;
  const answer = await retry(fixture, id, { errors: ["undeliverable"] });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.retried, 2);
  const { status, pending_count, failed_count, finished_at, credits } = answer.body.campaign;
  assert.deepEqual([status, pending_count, failed_count, finished_at], ["running", 2, 1, null]);
  assert.deepEqual(credits, { reserved: 6, captured: 2, released: 2, refunded: 1 });
  await checkCampaigns(fixture.app.db.pool);

  await sendUntil(fixture, id, "completed");
  const sent = provider.sent.map(({ outgoing }) => outgoing);
  assert.equal(new Set(sent.map(({ message_id }) => message_id)).size, 6);
  const again = sent.slice(4).map(({ to }) => to);
  assert.deepEqual(again.toSorted(), [phone(1), phone(3)]);
  const done = await detail(fixture, id);
  assert.deepEqual([done.sent_count, done.failed_count], [3, 1]);
  assert.deepEqual(done.credits, { reserved: 6, captured: 4, released: 2, refunded: 1 });
  const isSentAgain = (attempts: unknown, i: number) => Number(attempts) > earlier[i]!;
  assert.deepEqual(
    (await recipients()).map(({ state, attempts, error }, i) => [
      state,
      isSentAgain(attempts, i),
      error,
    ]),
    [
      ["accepted", false, null],
      ["accepted", true, null],
      ["failed", false, "invalid_parameter"],
      ["accepted", true, null],
    ],
  );
  assert.deepEqual(await fixture.events(), [
    "chat.campaign.completed",
    "chat.campaign.retried",
    "chat.campaign.completed",
  ]);
  assert.deepEqual(await fixture.audit(), ["chat_campaign.retried"]);
  await checkInvariants(fixture);
});

test("a retry has a template fetched at once that is not approved", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  refuse(fixture, { [phone(0)]: 131026 });
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const setStatus = (status: string) =>
    app.db.query
      .updateTable("chat_templates")
      .set({ status })
      .where("account_id", "=", account.account_id)
      .execute();
  const syncs = () =>
    app.db.query
      .selectFrom("jobs")
      .select("run_at")
      .where("account_id", "=", account.account_id)
      .where("kind", "=", "chat.sync_templates")
      .execute();
  await setStatus("PAUSED");
  assert.equal((await retry(fixture, id)).status, 200);
  const [sync, ...more] = await syncs();
  assert.ok(sync!.run_at <= app.clock.now());
  assert.deepEqual(more, []);
});

test("a retry skips people who got the message under another address", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider, app, account } = fixture;
  const { account_id } = account;
  refuse(fixture, { [phone(0)]: 131026 });
  const bsuid = unique("IN.");
  const id = await fixture.campaign([0, 1].map((i) => ({ phone: phone(i) })));
  await app.db.pool.query(
    "update chat_recipients set phone = null, bsuid = $4 where account_id = $1 and campaign_id = $2 and phone = $3",
    [account_id, id, phone(1), bsuid],
  );
  await sendUntil(fixture, id, "completed");
  provider.answer = takeMessage;
  const sent = provider.sent.length;
  await app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, account_id, [{ bsuid, phone: phone(0) }], app.clock.now()));
  assert.equal((await retry(fixture, id)).status, 200);
  assert.equal((await detail(fixture, id)).status, "completed");
  assert.equal(provider.sent.length, sent);
  const { rows } = await app.db.pool.query(
    "select coalesce(error, state) as state from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
    [account_id, id],
  );
  assert.deepEqual(
    rows.map(({ state }) => state),
    ["duplicate", "accepted"],
  );
  await checkInvariants(fixture);
});

test("a retry touches messages of unknown outcome only with consent to a duplicate, and takes no second credit for them", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider, app, account } = fixture;
  provider.answer = async (outgoing) => {
    if (outgoing.to === phone(1)) throw new ChatSendError("unknown", "cut");
    throw new ChatSendError("rejected", "no", { code: 131026 });
  };
  const id = await fixture.campaign([0, 1].map((i) => ({ phone: phone(i) })));
  const senders = fixture.startSenders();
  await eventually(async () => (await detail(fixture, id)).counts.unknown === 1);
  await eventually(async () => (await detail(fixture, id)).counts.failed === 1);
  await senders.stop();
  assert.equal((await retry(fixture, id)).body.retried, 1);
  // As settle-unknown does after an hour.
  await report(fixture, id, phone(1), {
    state: "unresolved",
    error: "outcome_unknown",
  });
  provider.answer = takeMessage;
  await sendUntil(fixture, id, "completed");
  const named = await retry(fixture, id, { errors: ["undeliverable", "outcome_unknown"] });
  assert.deepEqual(failingFields(named), ["errors.1"]);
  const rest = await retry(fixture, id);
  assert.deepEqual([rest.status, rest.body.retried], [200, 0]);
  assert.equal(rest.body.campaign.status, "completed");
  assert.equal(provider.sent.filter(({ outgoing }) => outgoing.to === phone(1)).length, 1);
  const rows = await app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account.account_id)
    .where("type", "=", "chat.campaign.retried")
    .execute();
  assert.equal(rows.length, 1, "a retry without recipients records nothing");
  const { credits } = await detail(fixture, id);
  const consent = await retry(fixture, id, { errors: ["outcome_unknown"], may_duplicate: true });
  assert.deepEqual([consent.status, consent.body.retried], [200, 1]);
  await sendUntil(fixture, id, "completed");
  assert.equal(provider.sent.filter(({ outgoing }) => outgoing.to === phone(1)).length, 2);
  const repeated = await detail(fixture, id);
  assert.deepEqual([repeated.counts.accepted, repeated.counts.failed], [2, 0]);
  assert.deepEqual(repeated.credits, credits);
  await checkInvariants(fixture);
});

test("a late delivery of the failed message keeps a retried recipient from a second one", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  await report(fixture, id, phone(0), {
    state: "undelivered",
    error: "undeliverable",
  });
  await retry(fixture, id);
  await report(fixture, id, phone(0), {
    state: "delivered",
    provider_message_id: "wamid.late",
  });
  await sendUntil(fixture, id, "completed");
  assert.equal(fixture.provider.sent.length, 1);
  const { counts, credits } = await detail(fixture, id);
  assert.equal(counts.delivered, 1);
  assert.deepEqual(credits, { reserved: 2, captured: 2, released: 0, refunded: 1 });
});

test("a repeated or late report that the failed message was sent changes nothing of its retry", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider } = fixture;
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const sent = { state: "sent", provider_message_id: "wamid.first" } as const;
  const dispatches = await report(fixture, id, phone(0), sent);
  await report(fixture, id, phone(0), { state: "undelivered", error: "undeliverable" });
  await retry(fixture, id);
  await report(fixture, id, phone(0), { ...sent, dispatches });
  await sendUntil(fixture, id, "completed");
  assert.equal(provider.sent.length, 2);
  await report(fixture, id, phone(0), { ...sent, dispatches });
  const { counts, credits } = await detail(fixture, id);
  assert.deepEqual([counts.accepted, counts.sent], [1, 0]);
  assert.deepEqual(credits, { reserved: 2, captured: 2, released: 0, refunded: 1 });
  await report(fixture, id, phone(0), { state: "sent" });
  assert.equal((await detail(fixture, id)).counts.sent, 1);
  await checkInvariants(fixture);
});

test("a late report that a message of unknown outcome was sent keeps its retry from a second one", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider } = fixture;
  provider.answer = async () => {
    throw new ChatSendError("unknown", "cut");
  };
  const id = await fixture.campaign([{ phone: phone(0) }]);
  const senders = fixture.startSenders();
  await eventually(async () => (await detail(fixture, id)).counts.unknown === 1);
  await senders.stop();
  await report(fixture, id, phone(0), { state: "unresolved", error: "outcome_unknown" });
  const consent = await retry(fixture, id, { may_duplicate: true });
  assert.deepEqual([consent.status, consent.body.retried], [200, 1]);
  await report(fixture, id, phone(0), { state: "sent", provider_message_id: "wamid.late" });
  await sendUntil(fixture, id, "completed");
  assert.equal(provider.sent.length, 1);
  assert.equal((await detail(fixture, id)).counts.sent, 1);
  await checkInvariants(fixture);
});

test("a repeated report of the failed message does not give its ID to the message of the retry", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const failure = {
    state: "undelivered",
    error: "undeliverable",
    provider_message_id: "wamid.first",
  } as const;
  await report(fixture, id, phone(0), failure);
  await retry(fixture, id);
  await report(fixture, id, phone(0), failure);
  await sendUntil(fixture, id, "completed");
  const { data } = (await fixture.ask("GET", `/${id}/recipients`)).body;
  assert.equal(fixture.provider.sent.length, 2);
  assert.notEqual(data[0].provider_message_id, "wamid.first");
  assert.equal(data[0].state, "accepted");
});

test("a retry repeated under its key has one effect, and a retry without a key is refused", async (t) => {
  const fixture = await openChatFixture(t, shared);
  refuse(fixture, { [phone(0)]: 131026 });
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const key = unique("key");
  const twins = await Promise.all([1, 2, 3].map(() => retry(fixture, id, {}, key)));
  for (const twin of twins) assert.deepEqual([twin.status, twin.text], [200, twins[0]!.text]);
  await sendUntil(fixture, id, "completed");
  assert.equal((await retry(fixture, id, {}, key)).text, twins[0]!.text);
  assert.equal(fixture.provider.sent.length, 2);
  const unkeyed = await retry(fixture, id, {}, null);
  assert.equal(unkeyed.status, 400);
  assert.equal((await retry(fixture, id, { errors: ["x"] }, key)).status, 422);
  await checkInvariants(fixture);
});

test("a retry without credit for all changes nothing", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  refuse(fixture, { [phone(0)]: 131026, [phone(1)]: 131026 });
  const id = await fixture.campaign([0, 1].map((i) => ({ phone: phone(i) })));
  await sendUntil(fixture, id, "completed");
  const balance = app.db.query
    .updateTable("credit_balances")
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "chat");
  await balance.set({ available: 1 }).execute();
  const answer = await retry(fixture, id);
  assert.deepEqual([answer.status, answer.body.type], [409, "insufficient-credit"]);
  const { status, counts } = await detail(fixture, id);
  assert.deepEqual([status, counts.failed], ["completed", 2]);
  await balance.set({ available: 100_000 }).execute();
  await checkCampaigns(app.db.pool);
});

test("a campaign that failed as a whole sends the rest after a retry, and pauses if its template has changed", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, template_id, provider } = fixture;
  refuse(fixture, Object.fromEntries([0, 1, 2].map((i) => [phone(i), 132001])));
  const id = await fixture.campaign([0, 1, 2].map((i) => ({ phone: phone(i) })));
  await sendUntil(fixture, id, "failed");
  const template = app.db.query
    .updateTable("chat_templates")
    .where("account_id", "=", account.account_id)
    .where("id", "=", template_id);
  const setBody = (text: string) =>
    template.set({ components: JSON.stringify([{ type: "BODY", text }]) }).execute();
  await setBody("Hello {{1}}, order {{2}}");
  const { body } = await retry(fixture, id);
  assert.deepEqual([body.retried, body.campaign.status], [3, "paused"]);
  assert.deepEqual(
    [body.campaign.paused_reason, body.campaign.failure],
    ["template_changed", null],
  );
  await setBody("Hello {{1}}");
  provider.answer = takeMessage;
  await fixture.ask("POST", `/${id}/resume`);
  await sendUntil(fixture, id, "completed");
  assert.equal((await detail(fixture, id)).sent_count, 3);
  await checkInvariants(fixture);
});

test("an ended campaign that a hold pauses on its retry records so, one that already runs does not", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, number } = fixture;
  refuse(fixture, { [phone(0)]: 131026, [phone(1)]: 131008 });
  const id = await fixture.campaign([0, 1].map((i) => ({ phone: phone(i) })));
  await sendUntil(fixture, id, "completed");
  const { account_id } = account;
  const held = { account_id, scope: "number", subject_id: number.id, reason: "auth" } as const;
  await app.db.query
    .transaction()
    .execute((tx) => hold(tx, { ...held, detail: null }, app.clock.now()));
  const earlier = await fixture.events();
  for (const errors of [["undeliverable"], null]) {
    const { status, body, text } = await retry(fixture, id, errors ? { errors } : {});
    assert.equal(status, 200, text);
    assert.deepEqual([body.retried, body.campaign.status], [1, "paused"]);
  }
  const recorded = (await fixture.events()).slice(earlier.length);
  assert.deepEqual(recorded, [
    "chat.campaign.retried",
    "chat.campaign.paused",
    "chat.campaign.retried",
  ]);
});

test("a retry skips people who have opted out since", async (t) => {
  const fixture = await openChatFixture(t, shared);
  refuse(fixture, { [phone(0)]: 131026 });
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const suppressed = await fixture.api.send("POST", "/api/v1/suppressions", {
    token: fixture.account.token,
    json: { phone_number: phone(0), channel: "chat", reason: "asked" },
  });
  assert.equal(suppressed.status, 201, suppressed.text);
  await retry(fixture, id);
  await sendUntil(fixture, id, "completed");
  assert.equal(fixture.provider.sent.length, 1);
  assert.equal((await detail(fixture, id)).counts.skipped, 1);
  await checkInvariants(fixture);
});

test("a campaign that was cancelled, has not started, was purged or has no active number is not retried", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, number } = fixture;
  refuse(fixture, { [phone(0)]: 131026 });
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const set = (values: { state?: string; purged_at?: Date | null }) =>
    app.db.query
      .updateTable("chat_campaigns")
      .set(values)
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .execute();
  const conflict = async (reason: RegExp) => {
    const answer = await retry(fixture, id);
    assert.deepEqual([answer.status, answer.body.type], [409, "conflict"], answer.text);
    assert.match(answer.body.detail, reason);
  };
  for (const state of ["cancelled", "scheduled"]) {
    await set({ state });
    await conflict(new RegExp(`is ${state} and cannot be retried`));
  }
  await set({ state: "completed", purged_at: app.clock.now() });
  await conflict(/purged/);
  await set({ purged_at: null });
  await app.db.query
    .updateTable("chat_numbers")
    .set({ active: false })
    .where("account_id", "=", account.account_id)
    .where("id", "=", number.id)
    .execute();
  await conflict(/number is not active/);
  assert.equal((await retry(fixture, 8_000_000_000_000_001)).status, 404);
});

test("a campaign does not end while a retry queues its recipients again", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  const { account_id } = account;
  refuse(fixture, { [phone(0)]: 131026 });
  const id = await fixture.campaign([{ phone: phone(0) }]);
  await sendUntil(fixture, id, "completed");
  const { pool, query } = app.db;
  await pool.query(
    "update chat_campaigns set state = 'running', finished_at = null where account_id = $1 and id = $2",
    [account_id, id],
  );
  const { waiting: ending } = await query.transaction().execute(async (tx) => {
    await sql`select retry_chat_recipients(${account_id}, ${id}, null, false, ${app.clock.now()})`.execute(
      tx,
    );
    const waiting = completeChatCampaigns(app, account_id, [id]);
    await awaitsLock(query);
    return { waiting };
  });
  assert.equal(await ending, 0);
  assert.equal((await detail(fixture, id)).status, "running");
});
