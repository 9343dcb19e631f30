// Controls of a voice campaign by users and by the worker: pause, resume, cancel, start, complete, move.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { runTransition } from "../../../test/support/run-transition.ts";
import { makeNode, makeSandboxTrunk, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { checkVoiceCampaigns } from "../../../test/support/check-invariants.ts";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import {
  makeVoiceCall,
  makeVoiceCampaign,
  makeVoiceFile,
  type RecipientToMake,
  type TestVoiceCampaign,
} from "../../../test/support/voice-factory.ts";
import { holdFailingCampaign } from "../../calls/leader/dialer/hold-failing-campaign.ts";
import { claimRecipients } from "../../calls/leader/node/leader-statements.ts";
import type { Call } from "../../calls/state-machine/call.ts";
import type { CallEvent } from "../../calls/state-machine/events-and-commands.ts";
import { writeTransition } from "../../calls/state-machine/write-transition.ts";
import { completeVoiceCampaigns } from "./complete-voice-campaigns.ts";
import { hold, liftHolds } from "./holds.ts";
import { lockOpenVoiceCampaign } from "./lock-open-voice-campaign.ts";
import { moveStrandedCampaigns } from "./move-stranded-campaigns.ts";
import { startVoiceCampaign } from "./start-voice-campaign.ts";
import { drainVoiceCampaign } from "./drain-voice-campaign.ts";

let api: TestApi;
const notifications: string[] = [];
before(async () => {
  api = await startApi();
  api.app.notifications.on("voice_work", (subject) => void notifications.push(subject));
});
after(() => api.close());

const newAccount = () => makeAccount(api.app);

const ask = (account: TestAccount, method: string, path: string) =>
  api.send(method, `/api/v1/voice/campaigns/${path}`, { token: account.token });

async function events({ account_id }: TestAccount) {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select(["type", "data"])
    .where("account_id", "=", account_id)
    .where("type", "like", "voice.campaign.%")
    .orderBy("id")
    .execute();
  return rows.map(({ type, data }) => ({ type: type.slice("voice.campaign.".length), data }));
}

const eventTypes = async (account: TestAccount) => (await events(account)).map(({ type }) => type);

async function audit({ account_id }: TestAccount) {
  const rows = await api.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "detail"])
    .where("account_id", "=", account_id)
    .where("action", "like", "voice_campaign.%")
    .orderBy("id")
    .execute();
  return rows.map(({ action, detail }) => [action.slice("voice_campaign.".length), detail]);
}

async function states({ account_id }: TestAccount, campaign_id: number): Promise<string[]> {
  const rows = await api.app.db.query
    .selectFrom("voice_recipients")
    .select("state")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .execute();
  return rows.map(({ state }) => state);
}

async function setRecipient(
  { account_id }: TestAccount,
  campaign_id: number,
  [id, from, to]: readonly [number, string, string],
): Promise<void> {
  const { query, pool } = api.app.db;
  await query
    .updateTable("voice_recipients")
    .set({ state: to })
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .where("id", "=", id)
    .execute();
  await pool.query("select count_voice($1, $2, 1, $3, $4, 1)", [account_id, campaign_id, from, to]);
}

test("a pause sets a hold and a resume removes every hold; repetitions record no events", async () => {
  const account = await newAccount();
  const { account_id } = account;
  const { id, public_id, trunk_id } = await makeVoiceCampaign(api.app, account, {
    campaign: { name: "Spring" },
  });
  for (const verb of ["resume", "pause", "pause", "resume", "resume"]) {
    const answer = await ask(account, "POST", `${verb === "pause" ? id : public_id}/${verb}`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.status, verb === "pause" ? "paused" : "running");
    assert.equal(answer.body.paused_reason, verb === "pause" ? "manual" : null);
  }
  assert.ok(notifications.includes(String(trunk_id)));
  for (const reason of ["error_threshold", "credit"])
    await api.app.db.query
      .insertInto("voice_holds")
      .values({ account_id, campaign_id: id, reason, set_at: new Date(0) })
      .execute();
  const paused = await ask(account, "POST", `${id}/pause`);
  assert.equal(paused.body.paused_reason, "error_threshold");
  const resumed = await ask(account, "POST", `${id}/resume`);
  assert.deepEqual([resumed.body.status, resumed.body.holds], ["running", []]);
  const data = { campaign_id: id, id: public_id, name: "Spring" };
  const pausedEvent = { type: "paused", data: { ...data, paused_reason: "manual", detail: null } };
  const resumedEvent = { type: "resumed", data };
  assert.deepEqual(await events(account), [pausedEvent, resumedEvent, pausedEvent, resumedEvent]);
  assert.deepEqual(await audit(account), [
    ["paused", {}],
    ["resumed", { lifted: ["manual"] }],
    ["paused", {}],
    ["resumed", { lifted: ["credit", "error_threshold", "manual"] }],
  ]);
});

test("a cancelled campaign keeps calls in progress, cancels all other recipients in batches, and finishes with the last call", async () => {
  const account = await newAccount();
  const { account_id } = account;
  const recipients: RecipientToMake[] = [{ state: "calling" }, { state: "answered" }];
  for (let i = 0; i < 2_500; i++) {
    const due_at = new Date(Date.now() + (i % 7) * 60_000);
    recipients.push({ state: i % 3 === 0 ? "synthesizing" : "waiting", due_at });
  }
  const { id } = await makeVoiceCampaign(api.app, account, { recipients });
  await ask(account, "POST", `${id}/pause`);
  const answer = await ask(account, "POST", `${id}/cancel`);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([answer.body.status, answer.body.holds], ["cancelled", []]);
  for (const verb of ["cancel", "pause", "resume"]) {
    const late = await ask(account, "POST", `${id}/${verb}`);
    assert.equal(late.status, 409, verb);
    assert.match(late.body.detail, /^The campaign is cancelled and cannot be /);
  }
  const job = { account_id, subject: String(id) };
  const running_signal = new AbortController().signal;
  // A stopped run and one without time left are continued by the next run.
  assert.ok(await drainVoiceCampaign(api.app, job, AbortSignal.abort()));
  assert.ok(await drainVoiceCampaign(api.app, job, running_signal, -1));
  await Promise.all([
    drainVoiceCampaign(api.app, job, running_signal, 60_000),
    drainVoiceCampaign(api.app, job, running_signal, 60_000),
  ]);
  const [first, second, ...others] = await states(account, id);
  assert.deepEqual([first, second], ["calling", "answered"]);
  assert.deepEqual(new Set(others), new Set(["cancelled"]));
  await checkVoiceCampaigns(api.app.db.pool);
  const open = await ask(account, "GET", String(id));
  assert.deepEqual(
    [open.body.pending, open.body.in_progress, open.body.cancelled, open.body.finished_at],
    [1, 1, 2_500, null],
  );
  await setRecipient(account, id, [1, "calling", "no_answer"]);
  await completeVoiceCampaigns(api.app);
  const closed = await ask(account, "GET", String(id));
  assert.equal(closed.body.status, "cancelled");
  assert.ok(closed.body.finished_at);
  assert.deepEqual(await eventTypes(account), ["paused", "cancelled"]);
  const jobs = await api.app.db.query
    .selectFrom("jobs")
    .select(["kind", "subject"])
    .where("account_id", "=", account_id)
    .execute();
  assert.deepEqual(jobs, [{ kind: "voice.drain_campaign", subject: String(id) }]);
  // A campaign that was not cancelled is not drained.
  const running = await makeVoiceCampaign(api.app, account);
  await drainVoiceCampaign(api.app, { account_id, subject: String(running.id) }, running_signal);
  assert.deepEqual(await states(account, running.id), ["waiting"]);
});

/** Claims every due recipient of the campaign, as a node leader does; returns their calls. */
async function claimCalls(
  { account_id }: TestAccount,
  { id, trunk_id }: TestVoiceCampaign,
): Promise<readonly Call[]> {
  const { node_id } = await api.app.db.query
    .selectFrom("trunk_nodes")
    .select("node_id")
    .where("trunk_id", "=", trunk_id)
    .executeTakeFirstOrThrow();
  const of = { account_id, campaign_id: id, trunk_id, node_id, fence: 0, take: 10 };
  // Those of the factory, and of the number after its first call.
  const claim = { ...of, caller_id: "0", time_zones: ["", "Asia/Calcutta"] };
  return claimRecipients(api.app.db.pool, claim, api.app.clock.now());
}

const unanswered = {
  type: "ended",
  leg: 1,
  ending: { outcome: "no_answer", cause: 19, sip_status: 480, by: "far_end" },
} as const;

const hung_up = {
  type: "ended",
  leg: 1,
  ending: { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" },
} as const;

/** The campaign was paused before the leg was dialed. */
const held_back = {
  type: "ended",
  leg: 1,
  ending: { outcome: "canceled", cause: null, sip_status: null, by: "us" },
  blocker: "held",
} as const;

const later_node = { type: "callback", prompt: null, delay_minutes: 90 } as const;

/** Makes the retries of unanswered recipients due. */
async function makeDue({ account_id }: TestAccount, { id }: TestVoiceCampaign): Promise<void> {
  await api.app.db.pool.query(
    `update voice_recipients set due_at = $3
     where account_id = $1 and campaign_id = $2 and attempts = 1 and callbacks = 0`,
    [account_id, id, api.app.clock.now()],
  );
}

/** Handles the events in order, all now, and stores their transitions. */
async function store(first: Call, ...untimed: readonly Untimed[]): Promise<void> {
  const at = api.app.clock.now();
  const customer = { kind: "trunk", endpoint: "carrier", number: first.to_phone } as const;
  let call = first;
  for (const event of untimed) {
    const next = runTransition(call, { customer, caller_id: "0" }, { ...event, at });
    assert.ok(next, event.type);
    assert.ok(await writeTransition(api.app.db.pool, 0, call, next, at));
    call = next.call;
  }
}

/** An event without its time. */
type Untimed<Event = CallEvent> = Event extends CallEvent ? Omit<Event, "at"> : never;

test("a call that ends after its campaign was cancelled announces no automatic retry, neither in its record nor in its event", async () => {
  const account = await newAccount();
  const { account_id } = account;
  await makeCredits(api.app, account, { call: 10 });
  const announced = async (isCancelled: boolean) => {
    const campaign = await makeVoiceCampaign(api.app, account, { campaign: { max_retry: 1 } });
    const [call] = await claimCalls(account, campaign);
    if (isCancelled) await ask(account, "POST", `${campaign.id}/cancel`);
    await store(call!, unanswered);
    const { rows } = await api.app.db.pool.query<{
      state: string;
      record: boolean;
      event: boolean;
    }>(
      `select r.state, c.retry_at is not null as record, e.data ->> 'retry_at' is not null as event
       from voice_recipients r
       join calls c on c.account_id = r.account_id and c.id = r.call_id
       join events e on e.account_id = r.account_id and e.type = 'call.completed'
         and (e.data ->> 'call_id')::bigint = c.id
       where r.account_id = $1 and r.campaign_id = $2`,
      [account_id, campaign.id],
    );
    return rows;
  };
  assert.deepEqual(await announced(false), [{ state: "waiting", record: true, event: true }]);
  assert.deepEqual(await announced(true), [{ state: "no_answer", record: false, event: false }]);
});

test("recipients who wait for another attempt when their campaign is cancelled count under the result of their last one", async () => {
  const account = await newAccount();
  const { account_id } = account;
  await makeCredits(api.app, account, { call: 20 });
  const make = (recipients: readonly RecipientToMake[], more: Record<string, unknown> = {}) =>
    makeVoiceCampaign(api.app, account, {
      campaign: { call_type: "obd_ivr", max_retry: 3, ...more },
      recipients,
    });
  const cancel = async ({ id }: TestVoiceCampaign) => {
    await ask(account, "POST", `${id}/cancel`);
    const job = { account_id, subject: String(id) };
    await drainVoiceCampaign(api.app, job, new AbortController().signal, 60_000);
    await completeVoiceCampaigns(api.app);
    const { body } = await ask(account, "GET", String(id));
    const { answered, no_answer, cancelled, pending, called, answer_rate } = body;
    await checkVoiceCampaigns(api.app.db.pool);
    return { answered, no_answer, cancelled, pending, called, answer_rate };
  };
  const menu = { start: "later", nodes: { later: later_node } };
  const plan = { content: { call_type: "obd_ivr", menu }, opt_out_key: null };
  const later_at = new Date(api.app.clock.now().getTime() + 86_400_000);
  const campaign = await make([{}, {}, {}, { due_at: later_at }], {
    plan: JSON.stringify({ ...plan, answering_machine: "off" }),
  });
  const [first, second, third] = await claimCalls(account, campaign);
  await store(first!, unanswered);
  await store(second!, { type: "answered", leg: 1 }, hung_up);
  await store(third!, unanswered);
  // A call that is not dialed changes no result, whether it ends before or after the cancellation.
  await makeDue(account, campaign);
  const again = await claimCalls(account, campaign);
  assert.deepEqual(
    again.map(({ attempt }) => attempt),
    [2, 2],
  );
  await store(again[0]!, held_back);
  assert.deepEqual(await states(account, campaign.id), [
    "waiting",
    "waiting",
    "calling",
    "waiting",
  ]);
  await ask(account, "POST", `${campaign.id}/cancel`);
  await store(again[1]!, held_back);
  const of_four = { answered: 1, no_answer: 2, cancelled: 1, pending: 0 };
  assert.deepEqual(await cancel(campaign), { ...of_four, called: 3, answer_rate: 1 / 3 });

  const failed = [{ state: "no_answer", attempts: 1 }, { state: "failed" }] as const;
  const retried = await make(failed, { state: "completed", finished_at: new Date(0) });
  await api.app.db.pool.query("update voice_counts set attempts = 1 where campaign_id = $1", [
    retried.id,
  ]);
  const outcome = await api.send("POST", `/api/v1/voice/campaigns/${retried.id}/retry`, {
    token: account.token,
    json: {},
    headers: { "idempotency-key": "retry" },
  });
  assert.equal(outcome.body.retried, 2, outcome.text);
  const of_two = { answered: 0, no_answer: 1, cancelled: 1, pending: 0 };
  assert.deepEqual(await cancel(retried), { ...of_two, called: 1, answer_rate: 0 });
});

test("a campaign completes once, when no recipient is synthesizing, waiting or calling", async () => {
  const account = await newAccount();
  const { id, public_id } = await makeVoiceCampaign(api.app, account, {
    campaign: { name: "Spring" },
    recipients: [{ state: "synthesizing" }, { state: "waiting" }, { state: "calling" }],
  });
  const moves = [
    [1, "synthesizing", "suppressed"],
    [2, "waiting", "machine"],
    [3, "calling", "busy"],
  ] as const;
  for (const move of moves) {
    await completeVoiceCampaigns(api.app);
    assert.equal((await ask(account, "GET", String(id))).body.status, "running");
    await setRecipient(account, id, move);
  }
  await Promise.all(Array.from({ length: 4 }, () => completeVoiceCampaigns(api.app)));
  const { body } = await ask(account, "GET", String(id));
  assert.equal(body.status, "completed");
  assert.equal(body.pending, 0);
  assert.ok(body.finished_at);
  const { total, answered, machine, busy, no_answer, failed, suppressed, skipped, cancelled } =
    body;
  assert.deepEqual([total, machine, busy, suppressed], [3, 1, 1, 1]);
  const failures = { busy, no_answer, failed, suppressed, skipped, cancelled };
  const counts = { total, answered, machine, ...failures };
  const { attempts, cost, talk_seconds } = body;
  const share = { live_answers: 0, abandoned: 0, abandonment_rate: null };
  const named = { campaign_id: id, id: public_id, name: "Spring" };
  assert.deepEqual(await events(account), [
    { type: "completed", data: { ...named, ...counts, ...share, attempts, cost, talk_seconds } },
  ]);
  for (const verb of ["pause", "resume", "cancel"])
    assert.equal((await ask(account, "POST", `${id}/${verb}`)).status, 409);
  await checkVoiceCampaigns(api.app.db.pool);
});

async function holdsOf({ account_id }: TestAccount, campaign_id: number): Promise<string[]> {
  const rows = await api.app.db.query
    .selectFrom("voice_holds")
    .select("reason")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
  return rows.map(({ reason }) => reason);
}

test("a campaign that was paused by its last calls ends without holds, so that its retry runs", async () => {
  const account = await newAccount();
  const { account_id } = account;
  const { id } = await makeVoiceCampaign(api.app, account, {
    recipients: [{ state: "failed", attempts: 1 }],
  });
  await holdFailingCampaign(api.app.db, { account_id, campaign_id: id }, "all", new Date(0));
  assert.deepEqual(await holdsOf(account, id), ["error_threshold"]);
  await completeVoiceCampaigns(api.app);
  assert.deepEqual(await holdsOf(account, id), []);
  const { status, body } = await api.send("POST", `/api/v1/voice/campaigns/${id}/retry`, {
    token: account.token,
    json: {},
    headers: { "idempotency-key": "retry" },
  });
  assert.deepEqual([status, body.retried, body.campaign.status], [200, 1, "running"]);
  await ask(account, "POST", `${id}/cancel`);
});

test("a campaign that ends while its calls fail gets no hold", async () => {
  const account = await newAccount();
  const { account_id } = account;
  const { db, clock } = api.app;
  const { id } = await makeVoiceCampaign(api.app, account, { recipients: [{ state: "failed" }] });
  const { holding } = await db.query.transaction().execute(async (tx) => {
    await lockOpenVoiceCampaign(tx, account_id, id, "ended");
    const campaign = { account_id, campaign_id: id };
    const waiting = holdFailingCampaign(db, campaign, "all", clock.now());
    await awaitsLock(db.query);
    await tx
      .updateTable("voice_campaigns")
      .set({ state: "completed", finished_at: clock.now() })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
    return { holding: waiting };
  });
  await holding;
  assert.deepEqual([await holdsOf(account, id), await eventTypes(account)], [[], []]);
});

test("a scheduled campaign starts once, unless it was cancelled, and a paused one starts paused", async () => {
  const account = await newAccount();
  const scheduled = { campaign: { state: "scheduled", started_at: null } };
  const { account_id } = account;
  const begin = (id: number) => startVoiceCampaign(api.app, { account_id, subject: String(id) });
  const held = await makeVoiceCampaign(api.app, account, scheduled);
  await ask(account, "POST", `${held.id}/pause`);
  await begin(held.id);
  await begin(held.id);
  const { body } = await ask(account, "GET", String(held.id));
  assert.deepEqual([body.status, body.paused_reason], ["paused", "manual"]);
  assert.ok(body.started_at);
  assert.ok(notifications.includes(String(held.trunk_id)));
  assert.equal((await ask(account, "POST", `${held.id}/resume`)).body.status, "running");
  const cancelled = await makeVoiceCampaign(api.app, account, scheduled);
  await ask(account, "POST", `${cancelled.id}/cancel`);
  await begin(cancelled.id);
  assert.equal((await ask(account, "GET", String(cancelled.id))).body.status, "cancelled");
  assert.deepEqual(await eventTypes(account), ["paused", "started", "resumed", "cancelled"]);
});

/** Returns the trunk and caller ID of a campaign. */
async function lineOf({ account_id }: TestAccount, id: number) {
  return api.app.db.query
    .selectFrom("voice_campaigns")
    .select(["trunk_id", "caller_id"])
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
}

async function updateTrunk(id: number, set: Record<string, unknown>): Promise<void> {
  await api.app.db.query.updateTable("trunks").set(set).where("id", "=", id).execute();
}

async function trunkName(id: number): Promise<string> {
  const trunks = api.app.db.query.selectFrom("trunks").select("name").where("id", "=", id);
  return (await trunks.executeTakeFirstOrThrow()).name;
}

test("an open campaign whose trunk is deactivated, deleted, reserved for another account or without its caller ID pauses, although another trunk is usable", async () => {
  const { app } = api;
  const account = await newAccount();
  const stranger = await newAccount();
  const caller_ids = ["9000000001", "9000000002"];
  const make = async (campaign: Record<string, unknown> = {}) => {
    const { node_id, trunk_id } = await makeSandboxTrunk(app, account);
    await updateTrunk(trunk_id, { caller_ids });
    const values = { trunk_id, caller_id: caller_ids[0], ...campaign };
    return { ...(await makeVoiceCampaign(app, account, { campaign: values })), node_id };
  };
  const off = await make({ state: "scheduled", started_at: null });
  const theirs = await make();
  const deleted = await make();
  const renumbered = await make();
  const reordered = await make();
  const over = await make({ state: "completed", finished_at: new Date(0) });
  const names = [await trunkName(off.trunk_id), await trunkName(renumbered.trunk_id)];
  await updateTrunk(off.trunk_id, { active: false });
  await updateTrunk(over.trunk_id, { active: false });
  await updateTrunk(theirs.trunk_id, { only_account_id: stranger.account_id });
  await app.db.query.deleteFrom("trunks").where("id", "=", deleted.trunk_id).execute();
  await updateTrunk(renumbered.trunk_id, { caller_ids: ["9000000002"] });
  await updateTrunk(reordered.trunk_id, { caller_ids: caller_ids.toReversed() });
  await makeSandboxTrunk(app, account);
  for (let iteration = 0; iteration < 2; iteration++) await moveStrandedCampaigns(app);
  const holds: unknown[] = [];
  for (const { id, trunk_id } of [off, theirs, deleted, renumbered]) {
    const { body } = await ask(account, "GET", String(id));
    assert.deepEqual(
      [body.status, body.paused_reason, body.trunk_id],
      ["paused", "trunk", trunk_id],
    );
    holds.push(body.holds[0].detail);
  }
  assert.deepEqual(
    [holds[0], holds[2], holds[3]],
    [
      `the trunk ${names[0]} was deactivated`,
      "the trunk was deleted",
      `the trunk ${names[1]} no longer shows the caller ID 9000000001 for this account`,
    ],
  );
  const kept = (await ask(account, "GET", String(reordered.id))).body;
  assert.deepEqual([kept.status, kept.caller_id], ["running", "9000000001"]);
  assert.equal((await ask(account, "GET", String(over.id))).body.status, "completed");
  const paused = Array.from({ length: 4 }, () => "paused");
  assert.deepEqual(await eventTypes(account), paused);
});

test("an open campaign whose trunk is deactivated or without a node in contact moves to the fall-back trunk, with an event, and otherwise waits for the nodes", async () => {
  const { app } = api;
  const account = await newAccount();
  const fallback = await makeSandboxTrunk(app, account);
  await updateTrunk(fallback.trunk_id, { caller_ids: ["9000000003", "9000000002"] });
  const make = async (caller_id: string, more: Record<string, unknown> = {}) => {
    const { node_id, trunk_id } = await makeSandboxTrunk(app, account);
    await updateTrunk(trunk_id, { caller_ids: [caller_id], ...more });
    const campaign = { trunk_id, caller_id, name: "Spring" };
    return { ...(await makeVoiceCampaign(app, account, { campaign })), node_id };
  };
  const named = { fallback_trunk_id: fallback.trunk_id };
  const off = await make("9000000001", { ...named, active: false });
  const lost = await make("9000000002", named);
  const waiting = await make("9000000004");
  await app.db.query
    .updateTable("voice_nodes")
    .set({ lost_at: new Date(), connected_at: null })
    .where("id", "in", [lost.node_id, waiting.node_id])
    .execute();
  const previous = [await trunkName(off.trunk_id), await trunkName(lost.trunk_id)];
  for (let iteration = 0; iteration < 2; iteration++) await moveStrandedCampaigns(app);
  const { trunk_id } = fallback;
  assert.deepEqual(await lineOf(account, off.id), { trunk_id, caller_id: "9000000003" });
  assert.deepEqual(await lineOf(account, lost.id), { trunk_id, caller_id: "9000000002" });
  assert.equal((await lineOf(account, waiting.id)).trunk_id, waiting.trunk_id);
  const { body } = await ask(account, "GET", String(waiting.id));
  assert.deepEqual([body.status, body.waiting_for], ["running", "no_trunk"]);
  assert.ok(notifications.includes(String(trunk_id)));
  const trunk = await trunkName(trunk_id);
  const of = (campaign: typeof off) => ({
    campaign_id: campaign.id,
    id: campaign.public_id,
    name: "Spring",
    trunk,
  });
  assert.deepEqual(await events(account), [
    {
      type: "trunk_changed",
      data: {
        ...of(off),
        caller_id: "9000000003",
        previous_trunk: previous[0],
        previous_caller_id: "9000000001",
        reason: `the trunk ${previous[0]} was deactivated`,
      },
    },
    {
      type: "trunk_changed",
      data: {
        ...of(lost),
        caller_id: "9000000002",
        previous_trunk: previous[1],
        previous_caller_id: "9000000002",
        reason: `every node of the trunk ${previous[1]} is inactive or lost`,
      },
    },
  ]);
});

test("a campaign that paused because of its trunk continues, when a user resumes it, over that trunk if it can be used again, and otherwise over another; without any, the resume is refused", async () => {
  const { app } = api;
  const account = await newAccount();
  const make = async () => {
    const { trunk_id } = await makeSandboxTrunk(app, account);
    await updateTrunk(trunk_id, { caller_ids: ["9000000001"], active: false });
    const campaign = { trunk_id, caller_id: "9000000001" };
    return makeVoiceCampaign(app, account, { campaign });
  };
  const again = await make();
  const other = await make();
  await moveStrandedCampaigns(app);
  const stuck = await ask(account, "POST", `${other.id}/resume`);
  assert.equal(stuck.status, 409, stuck.text);
  assert.equal(
    stuck.body.detail,
    `The campaign cannot be resumed: the trunk ${await trunkName(other.trunk_id)} was deactivated, and no other trunk can be used`,
  );
  const { body } = await ask(account, "GET", String(other.id));
  assert.deepEqual([body.paused_reason, body.trunk_id], ["trunk", other.trunk_id]);
  await updateTrunk(again.trunk_id, { active: true });
  for (const { id } of [again, other]) {
    const resumed = await ask(account, "POST", `${id}/resume`);
    assert.deepEqual([resumed.body.status, resumed.body.trunk_id], ["running", again.trunk_id]);
  }
  assert.ok(notifications.includes(String(again.trunk_id)));
  const types = ["paused", "paused", "resumed", "trunk_changed", "resumed"];
  assert.deepEqual(await eventTypes(account), types);
});

test("a campaign never moves between the sandbox and Asterisk, neither when a user resumes it nor to its fall-back trunk", async () => {
  const { app } = api;
  const account = await newAccount();
  const only = { only_account_id: account.account_id };
  const asterisk = await makeNode(app, { driver: "asterisk", connected: true });
  const carrier = await makeTrunk(app, [asterisk], only);
  const make = async (fallback: Record<string, unknown> = {}) => {
    const { trunk_id } = await makeSandboxTrunk(app, account);
    await updateTrunk(trunk_id, { active: false, ...fallback });
    return makeVoiceCampaign(app, account, { campaign: { trunk_id } });
  };
  const simulated = await make();
  const named = await make({ fallback_trunk_id: carrier });
  const uncalled = await make();
  const called = await make();
  await makeVoiceCall(app, account, called);
  const deleted = [uncalled.trunk_id, called.trunk_id];
  await app.db.query.deleteFrom("trunks").where("id", "in", deleted).execute();
  const campaigns = [simulated, named, uncalled, called];
  const resumeAll = async () => {
    await moveStrandedCampaigns(app);
    const statuses: number[] = [];
    for (const { id } of campaigns)
      statuses.push((await ask(account, "POST", `${id}/resume`)).status);
    await moveStrandedCampaigns(app);
    const lines = await Promise.all(campaigns.map(({ id }) => lineOf(account, id)));
    return { statuses, trunks: lines.map(({ trunk_id }) => trunk_id) };
  };
  assert.deepEqual(await resumeAll(), {
    statuses: [409, 409, 409, 409],
    trunks: campaigns.map(({ trunk_id }) => trunk_id),
  });
  for (const { id } of campaigns)
    assert.equal((await ask(account, "GET", String(id))).body.paused_reason, "trunk");
  const other = (await makeSandboxTrunk(app, account)).trunk_id;
  assert.deepEqual(await resumeAll(), {
    statuses: [200, 200, 409, 200],
    trunks: [other, other, uncalled.trunk_id, other],
  });
});

test("a campaign that has not called continues over a trunk of the driver of its launch after its trunk and node were deleted", async () => {
  const { app } = api;
  const account = await newAccount();
  const asterisk = await makeNode(app, { driver: "asterisk", connected: true });
  const only_account_id = account.account_id;
  const file = await makeVoiceFile(app, account, { script: "Hello", language: "en" });
  const first = await makeSandboxTrunk(app, account);
  const json = {
    campaign_name: "Spring",
    voice_file_id: file,
    call_type: "obd_smartvoice",
    sendTo: "Numbers",
    number: "9876543210",
  };
  const launch = async (more: object) => {
    const options = { token: account.token, json: { ...json, ...more } };
    const { status, text, body } = await api.send("POST", "/api/v1/voice/voiceCampaign", options);
    assert.equal(status, 201, text);
    return body.campaignId as number;
  };
  const campaigns = [await launch({}), await launch({ schedulled_at: "2099-01-31T09:30:00Z" })];
  await makeTrunk(app, [asterisk], { only_account_id });
  const { query } = app.db;
  await query.deleteFrom("trunks").where("id", "=", first.trunk_id).execute();
  await query.deleteFrom("voice_nodes").where("id", "=", first.node_id).execute();
  await moveStrandedCampaigns(app);
  for (const id of campaigns) {
    const refused = await ask(account, "POST", `${id}/resume`);
    assert.equal(refused.status, 409, refused.text);
    assert.match(refused.body.detail, /the trunk was deleted, and no other trunk can be used$/);
  }
  const { trunk_id } = await makeSandboxTrunk(app, account);
  for (const id of campaigns) {
    const resumed = await ask(account, "POST", `${id}/resume`);
    assert.deepEqual([resumed.status, resumed.body.trunk_id], [200, trunk_id], resumed.text);
  }
});

async function locksCampaignFirst(control: "pause" | "resume" | "cancel"): Promise<void> {
  const account = await newAccount();
  const { db, clock } = api.app;
  const { id } = await makeVoiceCampaign(api.app, account);
  const held = { account_id: account.account_id, campaign_id: id };
  const manual = { reason: "manual", detail: null } as const;
  if (control !== "pause")
    await db.query.transaction().execute((tx) => hold(tx, held, manual, clock.now()));
  const other = await db.query.transaction().execute(async (tx) => {
    await lockOpenVoiceCampaign(tx, account.account_id, id, "held");
    const waiting = ask(account, "POST", `${id}/${control}`);
    await awaitsLock(db.query);
    if (control === "pause") await hold(tx, held, manual, clock.now());
    else await liftHolds(tx, held);
    return { waiting };
  });
  const answer = await other.waiting;
  assert.equal(answer.status, 200, answer.text);
}

for (const control of ["pause", "resume", "cancel"] as const)
  test(`a ${control} locks the campaign before its holds, so that it cannot deadlock`, () =>
    locksCampaignFirst(control));
