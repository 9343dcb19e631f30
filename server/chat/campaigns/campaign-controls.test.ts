// Pause, resume, cancel and resend: what the requests of a sender make of them.
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
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
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { addJob } from "../../engine/add-job.ts";
import { rebuildMessageCounts } from "../../reports/count-campaigns.ts";
import { applyFailureEffect } from "../inbound/failure-effects.ts";
import { hold, liftHold, type HoldReason, type HoldScope } from "../holds/holds.ts";
import { resend_after_ms } from "./resend-recipient.ts";
import { startCampaign } from "./start-campaign.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

async function setHold(
  { app, account }: ChatFixture,
  held: { scope: HoldScope; subject_id: number; reason: HoldReason },
): Promise<void> {
  const { account_id } = account;
  await app.db.query
    .transaction()
    .execute((tx) => hold(tx, { account_id, ...held, detail: null }, app.clock.now()));
}

async function setCampaign(
  { app, account }: ChatFixture,
  id: number,
  values: { state?: string; scheduled_at?: Date; started_at?: null; work_at?: Date },
): Promise<void> {
  await app.db.query
    .updateTable("chat_campaigns")
    .set(values)
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .execute();
}

const statusOf = async (fixture: ChatFixture, id: number) =>
  (await fixture.ask("GET", `/${id}`)).body.status as string;

/** Waits until nothing was sent for a second. */
async function silence({ sent }: { readonly sent: readonly unknown[] }): Promise<void> {
  let last = { count: -1, at_ms: 0 };
  await eventually(() => {
    if (last.count !== sent.length) last = { count: sent.length, at_ms: performance.now() };
    return performance.now() > last.at_ms + 1_000;
  });
}

async function checkInvariants({ app }: ChatFixture): Promise<void> {
  await checkCampaigns(app.db.pool);
  await checkLedger(app.db.pool);
}

test("a pause stops a campaign, and a resume sends the rest, each message once", async (t) => {
  // So slow that the pause comes long before the last is sent, on any machine.
  const fixture = await openChatFixture(t, shared, { rate_per_second: 20 });
  const { provider } = fixture;
  const id = await fixture.campaign(200);
  const senders = fixture.startSenders();
  await eventually(() => provider.sent.length > 5);
  const paused = await fixture.ask("POST", `/${id}/pause`);
  assert.equal(paused.status, 200, paused.text);
  assert.equal(paused.body.status, "paused");
  assert.equal(paused.body.paused_reason, "manual");
  await silence(provider);
  const sentSoFar = provider.sent.length;
  assert.ok(sentSoFar < 200, "the pause stopped nothing");
  await fixture.app.db.query
    .updateTable("chat_numbers")
    .set({ rate_per_second: 1_000 })
    .where("account_id", "=", fixture.account.account_id)
    .execute();
  const resumed = await fixture.ask("POST", `/${id}/resume`);
  assert.equal(resumed.status, 200, resumed.text);
  assert.equal(resumed.body.status, "running");
  assert.equal(resumed.body.paused_reason, null);
  await eventually(async () => (await statusOf(fixture, id)) === "completed");
  await senders.stop();
  const ids = provider.sent.map(({ outgoing }) => outgoing.message_id);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(new Set(provider.sent.map(({ outgoing }) => outgoing.to)).size, 200);
  assert.deepEqual(await fixture.events(), [
    "chat.campaign.paused",
    "chat.campaign.resumed",
    "chat.campaign.completed",
  ]);
  assert.deepEqual(await fixture.audit(), ["chat_campaign.paused", "chat_campaign.resumed"]);
  await checkInvariants(fixture);
});

test("a resume wakes a sender that had given its lease back", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(3);
  await fixture.ask("POST", `/${id}/pause`);
  const senders = fixture.startSenders();
  const far = new Date(Date.now() + 3_600_000);
  await fixture.app.db.query
    .updateTable("chat_campaigns")
    .set({ work_at: far })
    .where("account_id", "=", fixture.account.account_id)
    .where("id", "=", id)
    .execute();
  await fixture.ask("POST", `/${id}/resume`);
  await eventually(async () => (await statusOf(fixture, id)) === "completed");
  await senders.stop();
});

test("pausing a paused campaign or resuming a running one returns 200 and records no event", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  for (const verb of ["resume", "pause", "pause", "resume", "resume"]) {
    const answer = await fixture.ask("POST", `/${id}/${verb}`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.status, verb === "pause" ? "paused" : "running");
  }
  assert.deepEqual(await fixture.events(), ["chat.campaign.paused", "chat.campaign.resumed"]);
  assert.deepEqual(await fixture.audit(), ["chat_campaign.paused", "chat_campaign.resumed"]);
});

test("a resume lifts a stop by hand and by errors, and says which holds of others remain", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  const subject = { scope: "campaign", subject_id: id } as const;
  await setHold(fixture, { ...subject, reason: "manual" });
  await setHold(fixture, { ...subject, reason: "error_threshold" });
  const number = { scope: "number", subject_id: fixture.number.id } as const;
  await setHold(fixture, { ...number, reason: "sender_restricted" });
  const answer = await fixture.ask("POST", `/${id}/resume`);
  assert.equal(answer.status, 200);
  assert.equal(answer.body.status, "paused");
  assert.equal(answer.body.paused_reason, "sender_restricted");
  assert.deepEqual(
    answer.body.holds.map(({ reason }: { reason: string }) => reason),
    ["sender_restricted"],
  );
  const pauses = Array.from({ length: 3 }, () => "chat.campaign.paused");
  assert.deepEqual(await fixture.events(), pauses, "it does not go on yet");
  const held = { account_id: fixture.account.account_id, ...number } as const;
  await fixture.app.db.query
    .transaction()
    .execute((tx) =>
      liftHold(tx, { ...held, reason: "sender_restricted" }, fixture.app.clock.now()),
    );
  assert.deepEqual(await fixture.events(), [...pauses, "chat.campaign.resumed"]);
});

test("a scheduled campaign that is paused begins paused, and goes on when it is resumed", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(2);
  const now = fixture.app.clock.now();
  await setCampaign(fixture, id, { state: "scheduled", scheduled_at: now, started_at: null });
  await addJob(
    fixture.app.db.query,
    {
      account_id: fixture.account.account_id,
      kind: "chat.start_campaign",
      subject: String(id),
      run_at: now,
    },
    now,
  );
  assert.equal((await fixture.ask("POST", `/${id}/pause`)).body.status, "paused");
  await fixture.workJobs();
  assert.equal(await statusOf(fixture, id), "paused");
  assert.equal((await fixture.ask("POST", `/${id}/resume`)).body.status, "running");
});

test("a scheduled campaign whose own hold is lifted records that it resumed, and is not due before its time", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  const due = new Date("2099-01-01T00:00:00Z");
  await setCampaign(fixture, id, {
    state: "scheduled",
    scheduled_at: due,
    started_at: null,
    work_at: due,
  });
  const held = { scope: "campaign", subject_id: id, reason: "template_changed" } as const;
  await setHold(fixture, held);
  assert.equal(await statusOf(fixture, id), "paused");
  const { app, account } = fixture;
  const lift = (of: { scope: HoldScope; subject_id: number; reason: HoldReason }) =>
    app.db.query
      .transaction()
      .execute((tx) => liftHold(tx, { account_id: account.account_id, ...of }, app.clock.now()));
  assert.deepEqual(await lift(held), { lifted: true, number_ids: [] });
  assert.equal(await statusOf(fixture, id), "scheduled");
  const events = ["chat.campaign.paused", "chat.campaign.resumed"];
  assert.deepEqual(await fixture.events(), events);
  const by_number = { scope: "number", subject_id: fixture.number.id, reason: "auth" } as const;
  await setHold(fixture, by_number);
  await lift(by_number);
  assert.deepEqual(await fixture.events(), events, "its number's hold did not pause it");
  const { work_at } = await app.db.query
    .selectFrom("chat_campaigns")
    .select("work_at")
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(work_at, due);
});

test("a campaign that is created or starts under a hold records that it is paused, with the reason that it shows", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, number, template_id } = fixture;
  await setHold(fixture, { scope: "account", subject_id: 0, reason: "throttled" });
  await setHold(fixture, { scope: "number", subject_id: number.id, reason: "auth" });
  const create = async (more: object = {}) => {
    const contacts = [{ phone_number: "919876543210" }];
    const { status, body, text } = await fixture.api.send("POST", "/api/v1/chat/campaigns", {
      token: account.token,
      headers: { "idempotency-key": unique("key") },
      json: { name: "Held", chat_number_id: number.id, template_id, contacts, ...more },
    });
    assert.equal(status, 201, text);
    return body.id as number;
  };
  const now = await create();
  const in_an_hour = new Date(Date.now() + 3_600_000);
  const scheduled = await create({ scheduled_at: in_an_hour.toISOString() });
  const expected = ["created", "started", "paused", "created"];
  const recorded = async () =>
    (await fixture.events()).map((type) => type.replace("chat.campaign.", ""));
  assert.deepEqual(await recorded(), expected);
  await startCampaign(app, { account_id: account.account_id, subject: String(scheduled) });
  assert.deepEqual(await recorded(), [...expected, "started", "paused"]);
  const paused = await app.db.query
    .selectFrom("events")
    .select("data")
    .where("account_id", "=", account.account_id)
    .where("type", "=", "chat.campaign.paused")
    .orderBy("id")
    .execute();
  const data = { name: "Held", paused_reason: "auth" };
  assert.deepEqual(
    paused.map((event) => event.data),
    [now, scheduled].map((campaign_id) => ({ campaign_id, ...data })),
  );
  for (const id of [now, scheduled]) {
    const { body } = await fixture.ask("GET", `/${id}`);
    assert.deepEqual([body.status, body.paused_reason], ["paused", "auth"]);
  }
});

test("a campaign that is created or starts while its number's hold is stored records that it is paused", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, number, template_id } = fixture;
  const { account_id } = account;
  const detail = "The provider returned error 131031";
  const held = { scope: "number", subject_id: number.id, reason: "sender_restricted" } as const;
  const create = async (more: object = {}) => {
    const contacts = [{ phone_number: "919876543210" }];
    const { status, body, text } = await fixture.api.send("POST", "/api/v1/chat/campaigns", {
      token: account.token,
      headers: { "idempotency-key": unique("key") },
      json: { name: "Beside", chat_number_id: number.id, template_id, contacts, ...more },
    });
    assert.equal(status, 201, text);
    return body.id as number;
  };
  /** Begins while the hold is stored but not committed, as the effect of a message that failed. */
  const beside = async (begin: () => Promise<unknown>) => {
    const stored = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = app.db.query.transaction().execute(async (tx) => {
      const effect = { kind: "hold", ...held, detail, ends_at: null } as const;
      await applyFailureEffect(tx, account_id, effect, app.clock.now());
      stored.resolve();
      await begun.promise;
    });
    await stored.promise;
    const answered = begin();
    await Promise.race([answered, awaitsLock(app.db.query)]);
    begun.resolve();
    await Promise.all([holding, answered]);
  };
  const scheduled = await create({
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const recorded = async () =>
    (await fixture.events()).map((type) => type.replace("chat.campaign.", ""));
  await beside(() => create());
  assert.deepEqual(await recorded(), ["created", "created", "started", "paused"]);
  await app.db.query.transaction().execute(async (tx) => {
    await liftHold(tx, { account_id, ...held }, app.clock.now());
  });
  await beside(() => startCampaign(app, { account_id, subject: String(scheduled) }));
  assert.deepEqual((await recorded()).slice(4).toSorted(), [
    "paused",
    "paused",
    "resumed",
    "started",
  ]);
});

test("after a cancel no request begins any more, and what was not sent is given back", async (t) => {
  const fixture = await openChatFixture(t, shared, { rate_per_second: 100 });
  const { provider } = fixture;
  provider.answer = async (outgoing) => {
    // Some come back to be sent later, when the campaign is over already.
    const place = provider.sent.length % 3;
    if (place === 0) throw new ChatSendError("rejected", "busy", { code: 131_000 });
    return takeMessage(outgoing);
  };
  const id = await fixture.campaign(2_000);
  const senders = fixture.startSenders();
  await eventually(() => provider.sent.length > 50);
  const cancelled = await fixture.ask("POST", `/${id}/cancel`);
  assert.equal(cancelled.status, 200, cancelled.text);
  assert.equal(cancelled.body.status, "cancelled");
  await eventually(async () => {
    await fixture.workJobs();
    return (await fixture.ask("GET", `/${id}`)).body.finished_at !== null;
  });
  await silence(provider);
  await senders.stop();
  assert.ok(provider.sent.length < 1_500, "the cancel stopped nothing");
  const { counts, credits, pending_count, total_contacts } = (await fixture.ask("GET", `/${id}`))
    .body;
  assert.equal(pending_count, 0);
  assert.equal(total_contacts, 2_000);
  assert.ok(counts.cancelled > 0);
  assert.equal(credits.captured, counts.accepted);
  assert.equal(credits.released, 2_000 - counts.accepted);
  assert.deepEqual(await fixture.events(), ["chat.campaign.cancelled"]);
  assert.deepEqual(await fixture.audit(), ["chat_campaign.cancelled"]);
  await checkInvariants(fixture);
});

test("a message that returns to the queue after draining has begun is cancelled as well", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider, app } = fixture;
  const release = Promise.withResolvers<void>();
  provider.answer = async () => {
    await release.promise;
    throw new ChatSendError("rejected", "busy", { code: 131_000 });
  };
  const id = await fixture.campaign(1);
  const senders = fixture.startSenders();
  await eventually(() => provider.sent.length === 1);
  await fixture.ask("POST", `/${id}/cancel`);
  await fixture.workJobs();
  assert.equal((await fixture.ask("GET", `/${id}`)).body.counts.dispatching, 1);
  release.resolve();
  await eventually(async () => {
    await fixture.workJobs();
    return (await fixture.ask("GET", `/${id}`)).body.finished_at !== null;
  });
  await senders.stop();
  assert.equal((await fixture.ask("GET", `/${id}`)).body.counts.cancelled, 1);
  await checkCampaigns(app.db.pool);
});

test("a scheduled campaign that is cancelled never begins, and its holds go with it", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  const id = await fixture.campaign(5);
  const now = app.clock.now();
  await setCampaign(fixture, id, { state: "scheduled", scheduled_at: now, started_at: null });
  const job = {
    account_id: account.account_id,
    kind: "chat.start_campaign",
    subject: String(id),
    run_at: now,
  } as const;
  await addJob(app.db.query, job, now);
  await fixture.ask("POST", `/${id}/pause`);
  assert.equal((await fixture.ask("POST", `/${id}/cancel`)).body.status, "cancelled");
  await fixture.workJobs();
  const { body } = await fixture.ask("GET", `/${id}`);
  assert.equal(body.status, "cancelled");
  assert.equal(body.counts.cancelled, 5);
  assert.equal(body.started_at, null);
  assert.deepEqual(body.credits, { reserved: 5, captured: 0, released: 5, refunded: 0 });
  const holds = await app.db.query
    .selectFrom("chat_holds")
    .select("reason")
    .where("account_id", "=", account.account_id)
    .execute();
  assert.deepEqual(holds, []);
  await checkInvariants(fixture);
});

test("a campaign that is over is neither paused, resumed nor cancelled, and an unknown one is 404", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  for (const state of ["completed", "cancelled", "failed"]) {
    await setCampaign(fixture, id, { state });
    for (const verb of ["pause", "resume", "cancel"]) {
      const answer = await fixture.ask("POST", `/${id}/${verb}`);
      assert.equal(answer.status, 409, `${verb} of ${state}`);
      assert.equal(answer.body.type, "conflict");
      assert.match(answer.body.detail, new RegExp(`is ${state}`));
      assert.equal((await fixture.ask("POST", `/8000000000000001/${verb}`)).status, 404);
    }
  }
  assert.deepEqual(await fixture.events(), []);
  assert.deepEqual(await fixture.audit(), []);
});

test("a control repeated under its key is answered as the first time, without a second effect", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  const key = unique("key");
  const path = `/api/v1/chat/campaigns/${id}/pause`;
  const send = () =>
    fixture.api.send("POST", path, {
      token: fixture.account.token,
      headers: { "idempotency-key": key },
    });
  const first = await send();
  await fixture.ask("POST", `/${id}/resume`);
  const second = await send();
  assert.equal(first.status, 200);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("idempotency-replayed"), "true");
  assert.equal(await statusOf(fixture, id), "running");
});

test("controls and lifts of one campaign at the same time all end, whoever is first", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  const { account_id } = account;
  for (let round = 0; round < 15; round++) {
    const id = await fixture.campaign(1);
    const subject = { scope: "campaign", subject_id: id, reason: "error_threshold" } as const;
    await setHold(fixture, subject);
    const lift = app.db.query
      .transaction()
      .execute((tx) => liftHold(tx, { account_id, ...subject }, app.clock.now()));
    const answers = await Promise.all(
      ["pause", "resume", "pause", "resume", "cancel"].map((verb) =>
        fixture.ask("POST", `/${id}/${verb}`),
      ),
    );
    await lift;
    for (const { status, text } of answers) assert.ok(status === 200 || status === 409, text);
    assert.equal(await statusOf(fixture, id), "cancelled");
  }
});

/** Creates a campaign with one message of unknown outcome; returns the IDs. */
async function makeUnknown(fixture: ChatFixture): Promise<{ id: number; recipient: number }> {
  fixture.provider.answer = async () => {
    throw new ChatSendError("unknown", "cut");
  };
  const id = await fixture.campaign(1);
  const senders = fixture.startSenders();
  await eventually(async () => (await fixture.ask("GET", `/${id}`)).body.unknown_count === 1);
  await senders.stop();
  fixture.provider.answer = takeMessage;
  const [row] = (await fixture.ask("GET", `/${id}/recipients`)).body.data;
  return { id, recipient: row.id };
}

async function backdate({ app, account }: ChatFixture, id: number, by_ms: number): Promise<void> {
  const { account_id } = account;
  await app.db.query
    .updateTable("chat_recipients")
    .set({ dispatched_at: new Date(Date.now() - by_ms) })
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .execute();
  // It may be in another quarter of an hour now.
  await rebuildMessageCounts(app, account_id);
}

const consent = { may_duplicate: true };

test("a message of unknown outcome is resent as a new one once no process can still be sending it", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { id, recipient } = await makeUnknown(fixture);
  const path = `/${id}/recipients/${recipient}/resend`;
  const early = await fixture.ask("POST", path, consent);
  assert.equal(early.status, 409, early.text);
  assert.match(early.body.detail, /can be resent from 20\d\d-/);
  await backdate(fixture, id, resend_after_ms - 60_000);
  assert.equal((await fixture.ask("POST", path, consent)).status, 409);
  await backdate(fixture, id, resend_after_ms);
  const twins = await Promise.all([1, 2, 3].map(() => fixture.ask("POST", path, consent)));
  const answered = twins.map(({ status }) => status).toSorted((a, b) => a - b);
  assert.deepEqual(answered, [204, 409, 409]);
  const senders = fixture.startSenders();
  await eventually(async () => (await statusOf(fixture, id)) === "completed");
  await senders.stop();
  const [first, second] = fixture.provider.sent.map(({ outgoing }) => outgoing);
  assert.equal(fixture.provider.sent.length, 2);
  assert.equal(first!.to, second!.to);
  assert.notEqual(first!.message_id, second!.message_id);
  const [row] = (await fixture.ask("GET", `/${id}/recipients`)).body.data;
  assert.equal(row.state, "accepted");
  assert.equal(row.attempts, 2);
  assert.equal(row.error, null);
  assert.deepEqual(await fixture.audit(), ["chat_recipient.resent"]);
  await checkInvariants(fixture);
});

test("a resend wakes the sender that is past the recipient already", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider } = fixture;
  const far = Promise.withResolvers<void>();
  t.after(() => far.resolve());
  provider.answer = async (outgoing) => {
    if (provider.sent.length === 1) throw new ChatSendError("unknown", "cut");
    if (provider.sent.length === 3) await far.promise;
    return takeMessage(outgoing);
  };
  const id = await fixture.campaign(3);
  const senders = fixture.startSenders();
  await eventually(async () => (await fixture.ask("GET", `/${id}`)).body.unknown_count === 1);
  await eventually(() => provider.sent.length === 3);
  await backdate(fixture, id, resend_after_ms);
  const [row] = (await fixture.ask("GET", `/${id}/recipients?state=unknown`)).body.data;
  const answer = await fixture.ask("POST", `/${id}/recipients/${row.id}/resend`, consent);
  assert.equal(answer.status, 204, answer.text);
  await eventually(() => provider.sent.length === 4);
  far.resolve();
  await eventually(async () => (await statusOf(fixture, id)) === "completed");
  await senders.stop();
  assert.equal(provider.sent[3]!.outgoing.to, provider.sent[0]!.outgoing.to);
  await checkInvariants(fixture);
});

test("a resend takes an explicit word for the duplicate, an unknown outcome and a campaign that sends", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { id, recipient } = await makeUnknown(fixture);
  const path = `/${id}/recipients/${recipient}/resend`;
  await backdate(fixture, id, resend_after_ms);
  for (const json of [{}, { may_duplicate: false }, { may_duplicate: "true" }])
    assert.deepEqual(failingFields(await fixture.ask("POST", path, json)), ["may_duplicate"]);
  assert.deepEqual(failingFields(await fixture.ask("POST", path, { ...consent, x: 1 })), ["x"]);
  for (const unknown of [`/${id}/recipients/8000000000000001`, `/8000000000000001/recipients/1`])
    assert.equal((await fixture.ask("POST", `${unknown}/resend`, consent)).status, 404);
  await setCampaign(fixture, id, { state: "cancelled" });
  const over = await fixture.ask("POST", path, consent);
  assert.equal(over.status, 409);
  assert.match(over.body.detail, /is cancelled/);
  assert.equal((await fixture.ask("GET", `/${id}`)).body.unknown_count, 1);
  const other = await fixture.campaign(1);
  const [queued] = (await fixture.ask("GET", `/${other}/recipients`)).body.data;
  const known = await fixture.ask("POST", `/${other}/recipients/${queued.id}/resend`, consent);
  assert.equal(known.status, 409);
  assert.match(known.body.detail, /is queued/);
  assert.deepEqual(await fixture.audit(), []);
});

async function locksCampaignFirst(
  t: TestContext,
  control: "pause" | "resume" | "cancel" | "lift",
): Promise<void> {
  const fixture = await openChatFixture(t, shared);
  const { db, clock } = fixture.app;
  const { account_id } = fixture.account;
  const id = await fixture.campaign(1);
  const held = { account_id, scope: "campaign", subject_id: id, reason: "manual" } as const;
  if (control !== "pause") await setHold(fixture, held);
  const lift = () => db.query.transaction().execute((tx) => liftHold(tx, held, clock.now()));
  const other = await db.query.transaction().execute(async (tx) => {
    await tx
      .selectFrom("chat_campaigns")
      .select("id")
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .forNoKeyUpdate()
      .execute();
    const waiting = control === "lift" ? lift() : fixture.ask("POST", `/${id}/${control}`);
    await awaitsLock(db.query);
    if (control === "pause") await hold(tx, { ...held, detail: null }, clock.now());
    else await liftHold(tx, held, clock.now());
    return { waiting };
  });
  const answer = await other.waiting;
  if ("status" in answer) assert.equal(answer.status, 200, answer.text);
  else assert.equal(answer.lifted, false);
}

for (const control of ["pause", "resume", "cancel", "lift"] as const)
  test(`a ${control} locks the campaign before its holds, so that it cannot deadlock`, (t) =>
    locksCampaignFirst(t, control));
