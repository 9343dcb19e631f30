import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeCallingAccount,
  makeNode,
  makeSandboxTrunk,
  makeTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { makeCall } from "../../../../test/support/call-factory.ts";
import { callValue, storedCall } from "../../../../test/support/call-values.ts";
import { checkLedger } from "../../../../test/support/check-invariants.ts";
import { testClock } from "../../../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { openDatabase, type Database } from "../../../lib/database/database.ts";
import { openLog } from "../../../lib/log.ts";
import { addAttempt } from "../../controls/add-attempt.ts";
import { playbackName, type Call, type Line } from "../../state-machine/call.ts";
import type { CallBlocker } from "../../state-machine/call-blocker.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { answerRequest, transition } from "../../state-machine/transition.ts";
import { beginIncomingCall } from "../node/incoming-statements.ts";
import { applySideEffects, hasSideEffects } from "./apply-side-effects.ts";
import { storeTransition } from "./store-transition.ts";

const noon = new Date("2026-03-01T12:00:00Z");
const later = (minutes: number) => new Date(noon.getTime() + minutes * 60_000);
const clock = testClock();
const line: Line = {
  customer: { kind: "trunk", endpoint: "carrier", number: "919876543210" },
  caller_id: "101",
};

let database: TestDatabase;
let db: Database;

before(async () => {
  clock.set(noon);
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
});
after(async () => {
  await checkLedger(db.pool);
  await db.close();
  await database.drop();
});

type Made = Parameters<typeof makeCall>[2];

async function made(credits: number, more: Made = {}): Promise<Call> {
  const account = await makeCallingAccount({ db, clock }, { credits });
  const { id } = await makeCall({ db, clock }, account, {
    ...more,
    call: { stage: "agent", ...more.call },
  });
  return storedCall({ db }, account.account_id, id);
}

/** Ends the call at noon because no agent is free, and stores the transition as its node leader does. */
async function endUnanswered(call: Call): Promise<void> {
  const placed = transition(call, line, { type: "placed", blocker: null, at: noon })!;
  const next = answerRequest(placed, line, { type: "agents_chosen", agents: [], at: noon });
  await storeTransition(db, 0, { before: call, line, next }, noon);
}

/** Ends the call before it is placed. */
async function endUnplaced(call: Call, blocker: CallBlocker): Promise<void> {
  const next = transition(call, line, { type: "placed", blocker, at: noon })!;
  await storeTransition(db, 0, { before: call, line, next }, noon);
}

/** Ends the call because it was claimed after the window had closed. */
const endAtNight = (call: Call) => endUnplaced(call, "night_window");

const attempts = ({ account_id, campaign_id }: Call) =>
  db.query
    .selectFrom("calls")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("attempt")
    .execute();

const blocks = ({ account_id }: Call) =>
  db.query
    .selectFrom("suppressions")
    .select(["phone", "channel", "source", "expires_at"])
    .where("account_id", "=", account_id)
    .execute();

const with_retry = { max_retry: 1, retry_after_minutes: 7, auto_block_minutes: 60 };
const until = (minutes: number) => [
  {
    phone: "919876543210",
    channel: "voice",
    source: "auto_block",
    expires_at: later(minutes),
  },
];

test("queues the next attempt like the last one, reserves its credit, and does not block the customer yet", async () => {
  // The credit that the ended call releases pays for it.
  const first = await made(2, { asked: with_retry, call: { cli_number: "8000000001" } });
  await endUnanswered(first);
  const [ended, next, ...more] = await attempts(first);
  assert.deepEqual(more, []);
  assert.deepEqual(ended!.retry_at, later(7));
  const { from_number, to_number, to_phone, cli_number, node_id, trunk_id } = first;
  assert.partialDeepStrictEqual(next, {
    from_number,
    to_number,
    to_phone,
    cli_number,
    node_id,
    trunk_id,
    attempt: 2,
    stage: "queued",
    status: "queued",
    due_at: later(7),
    queued_at: noon,
    retried_leg: null,
    reserved: 2,
  });
  const reservation = await db.query
    .selectFrom("credit_reservations")
    .select(["subject", "closed_at"])
    .where("account_id", "=", first.account_id)
    .where("id", "=", next!.reservation_id)
    .executeTakeFirst();
  assert.deepEqual(reservation, { subject: `call:${next!.id}`, closed_at: null });
  assert.deepEqual(await blocks(first), []);
});

test("makes as many automatic retries as requested, not counting one that was claimed after the window had closed", async () => {
  const first = await made(10, { asked: { max_retry: 2 } });
  await endUnanswered(first);
  for (const end of [endAtNight, endUnanswered, endUnanswered]) {
    const { id, account_id } = (await attempts(first)).at(-1)!;
    const calls = db.query.updateTable("calls").set({ stage: "agent" });
    await calls.where("account_id", "=", account_id).where("id", "=", id).execute();
    await end(await storedCall({ db }, account_id, id));
  }
  assert.deepEqual(
    (await attempts(first)).map(({ ended_reason, retry_at }) => [ended_reason, retry_at !== null]),
    [
      ["no_free_agent", true],
      ["night_window", true],
      ["no_free_agent", true],
      ["no_free_agent", false],
    ],
  );
});

test("blocks the customer after the last attempt for the minutes requested", async () => {
  const last = await made(2, { asked: with_retry, call: { attempt: 2 } });
  await endUnanswered(last);
  assert.equal((await attempts(last)).length, 1);
  assert.deepEqual(await blocks(last), until(60));
});

test("blocks the customer when the last automatic retry is not placed, but not when the first attempt or a manual retry is not", async () => {
  const last = await made(2, { asked: with_retry, call: { attempt: 2 } });
  await endUnplaced(last, "too_late");
  assert.deepEqual(await blocks(last), until(60));
  for (const call of [{ attempt: 1 }, { attempt: 2, retried_leg: "agent" }]) {
    const other = await made(2, { asked: with_retry, call });
    await endUnplaced(other, "too_late");
    assert.deepEqual(await blocks(other), []);
  }
});

test("without credit for the retry, queues and announces no retry, and blocks the customer", async () => {
  const call = await made(2, { asked: with_retry });
  // Another call of the account reserves the released credit first.
  await db.pool.query(
    `create function spend_at_once() returns trigger language plpgsql as $$
     begin
       if new.available = 2 then new.available := 1; end if; return new;
     end $$`,
  );
  await db.pool.query(
    `create trigger spend_at_once before update on credit_balances for each row
     when (new.account_id = ${call.account_id}) execute function spend_at_once()`,
  );
  await endUnanswered(call);
  await db.pool.query("drop function spend_at_once cascade");
  await db.pool.query("update credit_balances set available = 2 where account_id = $1", [
    call.account_id,
  ]);
  const [ended, ...more] = await attempts(call);
  assert.deepEqual(more, []);
  assert.equal(ended!.retry_at, null);
  for (const table of ["call_events", "events"]) {
    const { rows } = await db.pool.query<{ data: Record<string, unknown> }>(
      `select data from ${table} where account_id = $1 and type = 'call.completed'`,
      [call.account_id],
    );
    assert.equal(rows.length, 1);
    assert.equal(rows[0]!.data["retry_at"], null);
    assert.equal(rows[0]!.data["call_id"], call.id);
  }
  assert.deepEqual(await blocks(call), until(60));
});

test("keeps the longer of two blocks", async () => {
  const { account_id } = await made(2);
  const again = (minutes: number) =>
    db.query.transaction().execute((tx) =>
      applySideEffects(
        tx,
        callValue({ account_id }),
        callValue({
          account_id,
          stage: "ended",
          initiated_at: noon,
          ended_at: noon,
          click_to_call: { auto_block_minutes: minutes },
        }),
        noon,
      ),
    );
  for (const minutes of [30, 90, 60]) await again(minutes);
  assert.deepEqual(await blocks(callValue({ account_id })), until(90));
});

test("blocks the customer only after a call that has ended and is not retried", () => {
  const over = { stage: "ended", ended_at: noon, initiated_at: noon } as const;
  const click_to_call = { auto_block_minutes: 5 };
  assert.ok(hasSideEffects(callValue(over), callValue({ ...over, click_to_call })));
  assert.ok(
    !hasSideEffects(callValue(over), callValue({ ...over, retry_at: later(5), click_to_call })),
  );
  assert.ok(!hasSideEffects(callValue(over), callValue(over)));
  assert.ok(
    !hasSideEffects(callValue(), callValue({ ...over, initiated_at: null, click_to_call })),
  );
  assert.ok(
    !hasSideEffects(callValue(over), callValue({ ...over, stage: "ending", click_to_call })),
  );
});

const jobsOf = (accountId: number) =>
  db.query
    .selectFrom("jobs")
    .select(["kind", "subject", "payload", "run_at"])
    .where("account_id", "=", accountId)
    .execute();

test("queues the chat message beside a call once, when an attempt is placed", async () => {
  const click_to_call = { enable_chat: true };
  const queued = callValue({ click_to_call });
  const placed = callValue({ click_to_call, initiated_at: noon });
  assert.ok(hasSideEffects(queued, placed));
  assert.ok(!hasSideEffects(placed, placed));
  assert.ok(!hasSideEffects(queued, queued), "the call was blocked");
  assert.ok(hasSideEffects(queued, { ...placed, attempt: 2 }), "the first was not placed");
  assert.ok(!hasSideEffects(queued, callValue({ initiated_at: noon })));

  const { account_id } = await made(2);
  const call = { ...placed, account_id };
  for (let i = 0; i < 2; i++)
    await db.query.transaction().execute((tx) => applySideEffects(tx, queued, call, noon));
  assert.deepEqual(await jobsOf(account_id), [
    {
      kind: "chat.notify_call",
      subject: "call_campaign:3",
      payload: { phone: "919876543210", campaign_id: 3 },
      run_at: noon,
    },
  ]);
});

test("queues and announces no automatic retry over an inactive trunk", async () => {
  const node_id = await makeNode({ db, clock });
  const trunk_id = await makeTrunk({ db, clock }, [node_id], { active: false });
  const call = await made(10, { asked: with_retry, place: { node_id, trunk_id } });
  await endUnanswered(call);
  const [ended, ...more] = await attempts(call);
  assert.deepEqual([ended!.stage, ended!.retry_at, more], ["ended", null, []]);
});

test("queues the chat message beside a call that ends when it is placed, and is retried", async () => {
  const call = await made(2, { asked: { ...with_retry, enable_chat: true } });
  await endUnanswered(call);
  assert.equal((await attempts(call)).length, 2);
  const kinds = (await jobsOf(call.account_id)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["chat.notify_call"]);
});

const retry = (call: Call, retried_leg: "agent" | "customer" | null = "agent") =>
  db.query.transaction().execute((tx) => {
    const { account_id, campaign_id } = call;
    return addAttempt(tx, { account_id, campaign_id, retried_leg, due_at: noon }, noon);
  });

/** Adds an attempt that is not refused. */
async function addRetry(...of: Parameters<typeof retry>) {
  const added = await retry(...of);
  assert.ok(typeof added !== "string");
  return added;
}

test("adds no attempt without credit, and does not abort the transaction", async () => {
  const call = await made(3);
  assert.equal(await retry(call), "insufficient_credit");
  assert.equal((await attempts(call)).length, 1);
});

test("gives attempts that are added concurrently distinct numbers", async () => {
  const call = await made(100);
  const added = await Promise.all(Array.from({ length: 6 }, () => addRetry(call, "customer")));
  const all = await attempts(call);
  assert.deepEqual(
    all.map(({ attempt }) => attempt),
    [1, 2, 3, 4, 5, 6, 7],
  );
  assert.deepEqual(
    added.map(({ call_id }) => call_id).toSorted((a, b) => a - b),
    all
      .slice(1)
      .map(({ id }) => id)
      .toSorted((a, b) => a - b),
  );
  assert.ok(all.slice(1).every(({ retried_leg }) => retried_leg === "customer"));
});

test("queues an attempt on the last one's node if active, else on another active node of its trunk, else on the same node if it exists", async () => {
  const [first, idle, second] = [
    await makeNode({ db, clock }, { connected: true }),
    await makeNode({ db, clock }),
    await makeNode({ db, clock }, { connected: true }),
  ];
  const trunk_id = await makeTrunk({ db, clock }, [first, idle, second]);
  await makeSandboxTrunk({ db, clock });
  const call = await made(100, { place: { node_id: first, trunk_id } });
  const node = async () => (await addRetry(call)).node_id;
  const stop = (id: number) =>
    db.query.updateTable("voice_nodes").set({ active: false }).where("id", "=", id).execute();
  assert.equal(await node(), first);
  await stop(first);
  assert.equal(await node(), second);
  await stop(second);
  assert.equal(await node(), idle);
  await stop(idle);
  assert.equal(await node(), idle);
  await db.query.deleteFrom("voice_nodes").where("id", "=", idle).execute();
  assert.equal(await retry(call), "no_node");
});

test("queues an attempt on no node of another driver", async () => {
  const real = await makeNode({ db, clock }, { driver: "asterisk" });
  const sandbox = await makeNode({ db, clock }, { connected: true });
  const trunk_id = await makeTrunk({ db, clock }, [real, sandbox]);
  const call = await made(100, { place: { node_id: real, trunk_id } });
  await db.query.updateTable("voice_nodes").set({ active: false }).where("id", "=", real).execute();
  assert.equal((await addRetry(call)).node_id, real);
  const other = await makeNode({ db, clock }, { driver: "asterisk" });
  const limits = { calls_per_second: 1, calls_max: 1 };
  await db.query
    .insertInto("trunk_nodes")
    .values({ trunk_id, node_id: other, ...limits })
    .execute();
  assert.equal((await addRetry(call)).node_id, other);
  // Which driver the deleted node had is not known.
  await db.query.deleteFrom("voice_nodes").where("id", "=", real).execute();
  const last = await made(100, { place: { node_id: real, trunk_id } });
  assert.equal(await retry(last), "no_node");
});

/** Runs an incoming call of a new account to its end; returns it and the calls that are reported as missed. */
async function runIncoming(...events: CallEvent[]) {
  const { account_id } = await makeCallingAccount({ db, clock });
  const { node_id, trunk_id } = await makeSandboxTrunk({ db, clock });
  const bye = { type: "hang_up", prompt: null } as const;
  const ask = { keys: { "1": "bye" }, invalid_prompt: null, timeout_seconds: 5, tries: 3 };
  const prompt = { say: "Press 1", language: "en" };
  const main = { type: "menu", prompt, ...ask, otherwise: "bye" } as const;
  const content = { call_type: "obd_ivr", menu: { start: "main", nodes: { main, bye } } } as const;
  const numbers = { called: "918000000001", phone: "919812345678" };
  const of = { account_id, node_id, trunk_id, fence: 0, ...numbers, channel: "c1", content };
  let call = (await beginIncomingCall(db.pool, of, noon))!;
  for (const event of events) {
    const named = event.type === "played" ? { ...event, playback: playbackName(call, 1) } : event;
    const next = transition(call, line, named)!;
    await storeTransition(db, 0, { before: call, line, next }, noon);
    call = next.call;
  }
  const missed = await db.query
    .selectFrom("events")
    .select("data")
    .where("account_id", "=", account_id)
    .where("type", "=", "call.missed")
    .execute();
  const expected = { phone_number: numbers.phone, called_number: numbers.called, trunk_id };
  return { call, missed: missed.map(({ data }) => data), expected };
}

const far_end = { cause: null, sip_status: null, by: "far_end" } as const;

test("an incoming call that is lost is reported as missed with its numbers, unless an agent was connected", async () => {
  const { call, missed, expected } = await runIncoming(
    { type: "answered", leg: 1, at: noon },
    { type: "ended", leg: 1, ending: { ...far_end, outcome: "lost" }, at: later(1) },
  );
  assert.deepEqual([call.stage, call.ended_reason], ["ended", "node_lost"]);
  assert.deepEqual(missed, [expected]);
  const bridged: Call = { ...call, position: { ...call.position!, doing: "bridged" } };
  assert.equal(hasSideEffects(bridged, bridged), false);
});

test("an incoming call whose menu cannot be played is reported as missed", async () => {
  const { call, missed, expected } = await runIncoming(
    { type: "answered", leg: 1, at: noon },
    { type: "played", leg: 1, playback: "", ok: false, at: noon },
    { type: "ended", leg: 1, ending: { ...far_end, outcome: "hung_up" }, at: later(1) },
  );
  assert.deepEqual([call.stage, call.ended_reason], ["ended", "playback_failed"]);
  assert.deepEqual(missed, [expected]);
});
