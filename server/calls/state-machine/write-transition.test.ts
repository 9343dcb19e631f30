import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeCallingAccount, makeSandboxTrunk } from "../../../test/support/telephony-factory.ts";
import { makeCall, type CallToMake } from "../../../test/support/call-factory.ts";
import { storedCall } from "../../../test/support/call-values.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import { testClock } from "../../../test/support/clock.ts";
import { runTransition } from "../../../test/support/run-transition.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { isLeaseLost } from "../../engine/leases.ts";
import { openDatabase, type Database } from "../../lib/database/database.ts";
import { openLog } from "../../lib/log.ts";
import { reserveCredit } from "../leader/node/leader-statements.ts";
import type { Call, Line } from "./call.ts";
import type { CallEvent, Transition } from "./events-and-commands.ts";
import { writeTransition, writeTransitions } from "./write-transition.ts";

const noon = new Date("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(noon.getTime() + seconds * 1_000);
const clock = testClock();
const fence = 7;
const line: Line = {
  customer: { kind: "trunk", endpoint: "carrier", number: "919876543210" },
  caller_id: "8000000001",
};

let database: TestDatabase;
let db: Database;
let place: { node_id: number; trunk_id: number };

before(async () => {
  clock.set(noon);
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
  place = await makeSandboxTrunk({ db, clock });
});
after(async () => {
  await checkLedger(db.pool);
  await db.close();
  await database.drop();
});

/** A claimed call under `fence`, of an account that had this much credit before. */
async function claimed(credits = 10, more: CallToMake = {}): Promise<Call> {
  const account = await makeCallingAccount({ db, clock }, { credits });
  const { id } = await makeCall({ db, clock }, account, { place, ...more });
  const { account_id } = account;
  await db.pool.query("select from claim_calls($1, $2, $3, $4, 10, $5)", [
    account_id,
    place.node_id,
    place.trunk_id,
    fence,
    noon,
  ]);
  return storedCall({ db }, account_id, id);
}

/** An event without its time. */
type Untimed<Event = CallEvent> = Event extends CallEvent ? Omit<Event, "at"> : never;

function next(call: Call, event: Untimed, seconds: number): Transition {
  const found = runTransition(call, line, { ...event, at: at(seconds) });
  assert.ok(found, "the event changes nothing");
  return found;
}

/** Handles the events and stores each transition; returns the call as its leader then has it. */
async function live(call: Call, ...events: readonly [Untimed, seconds: number][]): Promise<Call> {
  let now = call;
  for (const [event, seconds] of events) {
    const taken = next(now, event, seconds);
    assert.equal(await writeTransition(db.pool, fence, now, taken, at(seconds)), true);
    now = taken.call;
  }
  return now;
}

const target = { kind: "extension", endpoint: "101", number: "101" } as const;
const placing = [
  [{ type: "placed", blocker: null }, 0],
  [{ type: "agents_chosen", agents: [{ number: "101", target }] }, 0],
] as const satisfies readonly [Untimed, number][];
const hungUp = (leg: number) =>
  ({
    type: "ended",
    leg,
    ending: { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" },
  }) as const;
const unanswered = {
  type: "ended",
  leg: 1,
  ending: { outcome: "no_answer", cause: 19, sip_status: 480, by: "far_end" },
} as const;

/** The events of a conversation of this many seconds, without a recording. */
const talk = (seconds: number) =>
  [
    ...placing,
    [{ type: "answered", leg: 1 }, 10],
    [{ type: "answered", leg: 2 }, 10],
    [{ type: "recorded", ok: true }, 11],
    [hungUp(2), 10 + seconds],
    [hungUp(1), 10 + seconds],
  ] as const satisfies readonly [Untimed, number][];

async function count(
  table: "calls" | "call_legs" | "call_events" | "events" | "live_customers",
  of: Call,
) {
  const { rows } = await db.pool.query<{ count: number }>(
    `select count(*)::int from ${table} where account_id = $1`,
    [of.account_id],
  );
  return rows[0]!.count;
}

/** Returns the state of the call's credit. */
async function bill({ account_id }: Call) {
  const { rows } = await db.pool.query<Record<string, number>>(
    `select (select available from credit_balances b where b.account_id = $1 and b.kind = 'call') as left,
       coalesce(sum(amount) filter (where type = 'reserve'), 0)::int as reserved,
       coalesce(sum(amount) filter (where type = 'capture'), 0)::int as captured,
       coalesce(sum(amount) filter (where type = 'release'), 0)::int as released,
       (select count(*)::int from credit_reservations r
         where r.account_id = $1 and r.closed_at is null) as open
     from credit_transfers t where t.account_id = $1`,
    [account_id],
  );
  return rows[0];
}

test("reads a stored call exactly as the node leader had it, after every transition", async () => {
  let call = await claimed();
  for (const one of talk(90)) {
    call = await live(call, one);
    const stored = await storedCall({ db }, call.account_id, call.id);
    assert.partialDeepStrictEqual(stored, call, `after ${one[0].type}`);
    assert.equal(stored.legs.length, call.legs.length);
  }
  assert.equal(call.stage, "ended");
});

test("stores the events of each transition with the call record and in the outbox", async () => {
  const call = await live(await claimed(), ...talk(90));
  const { rows } = await db.pool.query<{ type: string; data: { call_id: number } }>(
    "select type, data from call_events where account_id = $1 and call_id = $2 order by id",
    [call.account_id, call.id],
  );
  assert.deepEqual(
    rows.map(({ type }) => type),
    [
      "call.initiated",
      "call.answered",
      "call.answered",
      "call.bridged",
      "call.recording.ready",
      "call.completed",
    ],
  );
  assert.ok(rows.every(({ data }) => data.call_id === call.id));
  const outbox = await db.pool.query(
    "select type, data from events where account_id = $1 and type like 'call.%' order by id",
    [call.account_id],
  );
  assert.deepEqual(outbox.rows, rows);
});

test("writes nothing for a node leader that was replaced", async () => {
  const call = await live(await claimed(), ...placing);
  const taken = next(call, unanswered, 30);
  await db.pool.query("select from adopt_calls($1, $2, $3, '{}')", [
    call.account_id,
    call.node_id,
    fence + 1,
  ]);
  const look = () =>
    Promise.all([
      storedCall({ db }, call.account_id, call.id),
      bill(call),
      count("call_events", call),
      count("events", call),
      count("live_customers", call),
    ]);
  const stood = await look();
  await assert.rejects(writeTransition(db.pool, fence, call, taken, at(30)), isLeaseLost);
  assert.deepEqual(await look(), stood);
  assert.equal(await writeTransition(db.pool, fence + 1, call, taken, at(30)), true);
});

test("writes no call of another account, and none that does not exist", async () => {
  const call = await claimed();
  const taken = next(call, { type: "placed", blocker: null }, 0);
  for (const other of [{ account_id: 999_999 }, { id: 999_999 }]) {
    const theirs = { ...call, ...other };
    const stranger = { ...taken, call: { ...taken.call, ...other } };
    await assert.rejects(writeTransition(db.pool, fence, theirs, stranger, noon), isLeaseLost);
  }
});

test("never moves a stage back, and ends a call once", async () => {
  const ringing = await live(await claimed(), ...placing);
  const calling = await live(ringing, [{ type: "answered", leg: 1 }, 10]);
  const back = {
    call: { ...calling, stage: "agent" as const, steps: calling.steps + 1 },
    events: [],
  };
  await assert.rejects(writeTransition(db.pool, fence, calling, back, at(11)), isLeaseLost);
  const over = await live(calling, [hungUp(1), 20], [{ ...unanswered, leg: 2 }, 20]);
  const paid = await bill(over);
  const once_more = { call: { ...over, steps: over.steps + 1 }, events: [] };
  await assert.rejects(writeTransition(db.pool, fence, over, once_more, at(21)), isLeaseLost);
  assert.deepEqual(await bill(over), paid);
});

test("stores a transition once when it is repeated after a lost response", async () => {
  const call = await live(await claimed(), ...placing);
  const taken = next(call, unanswered, 30);
  assert.equal(await writeTransition(db.pool, fence, call, taken, at(30)), true);
  const stood = await Promise.all([bill(call), count("events", call), count("call_legs", call)]);
  assert.equal(await writeTransition(db.pool, fence, call, taken, at(31)), false);
  const afterwards = [bill(call), count("events", call), count("call_legs", call)];
  assert.deepEqual(await Promise.all(afterwards), stood);
});

test("releases all credit and the customer of a call that was not answered", async () => {
  const call = await live(await claimed(10), ...placing);
  assert.equal(await count("live_customers", call), 1);
  await live(call, [unanswered, 30]);
  assert.deepEqual(await bill(call), { left: 10, reserved: 2, captured: 0, released: 2, open: 0 });
  assert.equal(await count("live_customers", call), 0);
});

test("releases unused credit, and only the customer of the call that ended", async () => {
  const call = await live(await claimed(10), ...placing);
  await db.pool.query(
    "insert into live_customers (account_id, phone_key, call_id) values ($1, $2, $3)",
    [call.account_id, `${call.to_phone}0`, call.id + 1_000_000],
  );
  const plan = [
    [{ type: "answered", leg: 1 }, 10],
    [{ ...unanswered, leg: 2 }, 50],
    [hungUp(1), 50],
  ] as const satisfies readonly [Untimed, number][];
  assert.equal((await live(call, ...plan)).cost, 1);
  assert.deepEqual(await bill(call), { left: 9, reserved: 2, captured: 1, released: 1, open: 0 });
  assert.equal(await count("live_customers", call), 1);
});

test("charges the balance for a conversation that outlasted its reservation", async () => {
  const call = await live(await claimed(10), ...talk(150));
  assert.equal(call.cost, 6);
  assert.deepEqual(await bill(call), { left: 4, reserved: 6, captured: 6, released: 0, open: 0 });
});

test("does not bill or report what the account cannot pay: the call costs what was reserved", async () => {
  const call = await live(await claimed(3), ...talk(150));
  assert.deepEqual(await bill(call), { left: 1, reserved: 2, captured: 2, released: 0, open: 0 });
  const { cost, billed_seconds } = await storedCall({ db }, call.account_id, call.id);
  assert.deepEqual([cost, billed_seconds], [2, 120]);
  const { rows } = await db.pool.query<{ billed: string }>(
    `select data ->> 'billed_seconds' as billed from events
     where account_id = $1 and type = 'call.completed'`,
    [call.account_id],
  );
  assert.deepEqual(rows, [{ billed: "120" }]);
});

test("counts only the credits that a call costs towards the caps, also if the account cannot pay the rest", async () => {
  for (const [credits, paid] of [
    [10, 6],
    [3, 2],
  ] as const) {
    const call = await live(await claimed(credits), ...talk(150));
    const { rows } = await db.pool.query(
      `select split_part(subject, ':', 1) as subject, sum(credits)::int as credits from call_usage
       where account_id = $1 and subject in ('account', 'number:' || phone_key($2))
       group by call_usage.subject order by call_usage.subject`,
      [call.account_id, line.customer.number],
    );
    assert.deepEqual(
      rows,
      ["account", "number"].map((subject) => ({ subject, credits: paid })),
    );
  }
});

test("settles credit that was reserved during the call with the rest", async () => {
  const call = await live(await claimed(10), ...placing);
  await reserveCredit(db.pool, call, fence, 3, noon);
  await live(call, ...talk(90).slice(placing.length));
  assert.deepEqual(await bill(call), { left: 6, reserved: 5, captured: 4, released: 1, open: 0 });
});

test("reserves a pulse once although the first answer of the database is lost, also when it takes the last credit", async () => {
  const call = await live(await claimed(3), ...placing);
  const paid = { left: 0, reserved: 3, captured: 0, released: 0, open: 1 };
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.equal(await reserveCredit(db.pool, call, fence, 1, noon), true);
    assert.deepEqual(await bill(call), paid);
  }
  assert.equal(await reserveCredit(db.pool, { ...call, reserved: 3 }, fence, 1, noon), false);
  assert.deepEqual(await bill(call), paid);
});

test("keeps an opt-out that was recorded without the call's node leader", async () => {
  const call = await live(await claimed(), ...placing);
  const { account_id, id } = call;
  await db.query
    .updateTable("calls")
    .set({ opted_out: true })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const rung = next(call, { type: "ringing", leg: 1 }, 5);
  const written = await writeTransitions(db.pool, fence, [{ before: call, next: rung }]);
  assert.equal(written.get(id), true);
  assert.equal((await storedCall({ db }, account_id, id)).opted_out, true);
  await live(rung.call, ...talk(90).slice(placing.length));
  assert.equal((await storedCall({ db }, account_id, id)).opted_out, true);
});

test("ends a blocked call uncharged, and does not release another call's customer", async () => {
  const first = await live(await claimed(10), ...placing);
  const account = { account_id: first.account_id, owner_id: 1 };
  const { id } = await makeCall({ db, clock }, account, { place });
  const { rows } = await db.pool.query<{ customer_taken: boolean }>(
    "select customer_taken from claim_calls($1, $2, $3, $4, 10, $5)",
    [first.account_id, place.node_id, place.trunk_id, fence, noon],
  );
  assert.deepEqual(rows, [{ customer_taken: true }]);
  const second = await storedCall({ db }, first.account_id, id);
  const ended = await live(second, [{ type: "placed", blocker: "already_in_call" }, 1]);
  assert.equal(ended.stage, "ended");
  assert.deepEqual(await bill(first), { left: 8, reserved: 4, captured: 0, released: 2, open: 1 });
  assert.equal(await count("live_customers", first), 1);
});
