import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeCallingAccount,
  makeSandboxTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { makeCall } from "../../../../test/support/call-factory.ts";
import { storedCall } from "../../../../test/support/call-values.ts";
import { testClock } from "../../../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { isLeaseLost } from "../../../engine/leases.ts";
import { openDatabase, type Database } from "../../../lib/database/database.ts";
import { openLog } from "../../../lib/log.ts";
import type { Call, Line } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { transition } from "../../state-machine/transition.ts";
import { writeTransition, type BatchableTransition } from "../../state-machine/write-transition.ts";
import { openTransitionCommits } from "./commit-transitions.ts";

const noon = new Date("2026-03-01T12:00:00Z");
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
  await db.close();
  await database.drop();
});

/** Creates and claims calls of a new account, each to another customer. */
async function claimed(count: number): Promise<Call[]> {
  const account = await makeCallingAccount({ db, clock }, { credits: 2 * count });
  const { account_id } = account;
  const ids: number[] = [];
  for (let i = 0; i < count; i++) {
    const to_phone = `91987654${3_000 + i}`;
    ids.push((await makeCall({ db, clock }, account, { place, call: { to_phone } })).id);
  }
  const values = [account_id, place.node_id, place.trunk_id, fence, noon];
  await db.pool.query("select from claim_calls($1, $2, $3, $4, 100, $5)", values);
  return Promise.all(ids.map((id) => storedCall({ db }, account_id, id)));
}

/** Applies the events to the call without storing the transition. */
function apply(of: Call, ...events: readonly CallEvent[]): BatchableTransition {
  let call = of;
  const outbox: BatchableTransition["next"]["events"][number][] = [];
  for (const event of events) {
    const next = transition(call, line, event);
    assert.ok(next, `${event.type} changes nothing`);
    call = next.call;
    outbox.push(...next.events);
  }
  return { before: of, next: { call, events: outbox } };
}

const target = { kind: "extension", endpoint: "101", number: "101" } as const;
const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
const placing = [
  { type: "placed", blocker: null, at: noon },
  { type: "agents_chosen", agents: [{ number: "101", target }], at: noon },
] as const satisfies readonly CallEvent[];
const talk = [
  [...placing],
  [{ type: "ringing", leg: 1, at: noon }],
  [{ type: "answered", leg: 1, at: noon }],
  [{ type: "answered", leg: 2, at: noon }],
  [{ type: "recorded", ok: true, at: noon }],
  [{ type: "ended", leg: 2, ending, at: noon }],
] as const satisfies readonly (readonly CallEvent[])[];

async function storedEvents({
  account_id,
  id,
}: Call): Promise<{ record: unknown[]; outbox: unknown[] }> {
  const [record, outbox] = await Promise.all([
    db.pool.query(
      "select type, data from call_events where account_id = $1 and call_id = $2 order by id",
      [account_id, id],
    ),
    db.pool.query(
      `select type, data from events
       where account_id = $1 and type like 'call.%' and data ->> 'call_id' = $2::text order by id`,
      [account_id, String(id)],
    ),
  ]);
  return { record: record.rows, outbox: outbox.rows };
}

test("concurrent transitions are stored with their events, as each would be alone", async () => {
  const commit = openTransitionCommits({ db, clock }, { fence });
  let calls = await claimed(12);
  const expected = new Map<number, unknown[]>(calls.map(({ id }) => [id, []]));
  for (const events of talk) {
    const transitions = calls.map((call) => apply(call, ...events));
    await Promise.all(transitions.map(commit));
    for (const { before: of, next } of transitions)
      expected.get(of.id)!.push(...next.events.map(({ type, data }) => ({ type, data })));
    calls = transitions.map(({ next: { call } }) => call);
    for (const call of calls) {
      const stored = await storedCall({ db }, call.account_id, call.id);
      assert.partialDeepStrictEqual(stored, call, `after ${events[0].type}`);
      assert.equal(stored.legs.length, call.legs.length);
    }
  }
  for (const call of calls) {
    const events = expected.get(call.id)!;
    assert.deepEqual(await storedEvents(call), { record: events, outbox: events });
  }
});

test("a batched transition that is lost, going back, invalid or already stored does not affect the others", async () => {
  const commit = openTransitionCommits({ db, clock }, { fence });
  const calls = await claimed(6);
  const at = (i: number) => apply(calls[i]!, ...placing);
  const [first, lost, back, invalid, stored, last] = [at(0), at(1), at(2), at(3), at(4), at(5)];
  await db.pool.query("update calls set fence = $3 where account_id = $1 and id = $2", [
    lost.before.account_id,
    lost.before.id,
    fence + 1,
  ]);
  const { steps } = back.before;
  const moved = { ...back.before, stage: "customer" as const, steps: steps + 1 };
  await writeTransition(db.pool, fence, back.before, { call: moved, events: [] }, noon);
  const late = { ...back, next: { ...back.next, call: { ...back.next.call, steps: steps + 2 } } };
  const [leg] = invalid.next.call.legs;
  const unknown_role = { ...leg!, role: "unknown" as "agent" };
  const broken = {
    ...invalid,
    next: { ...invalid.next, call: { ...invalid.next.call, legs: [unknown_role] } },
  };
  await writeTransition(db.pool, fence, stored.before, stored.next, noon);

  const all = [first, lost, late, broken, stored, last];
  const outcomes = await Promise.allSettled(all.map(commit));
  const failures = outcomes.map((each) => (each.status === "rejected" ? each.reason : null));
  assert.deepEqual(
    failures.map((error) => (error === null ? null : (error as { code: string }).code)),
    [null, "TL001", "TL001", "23514", null, null],
  );
  assert.ok(isLeaseLost(failures[1]));
  for (const { before: of, next } of [first, stored, last]) {
    const call = await storedCall({ db }, of.account_id, of.id);
    assert.partialDeepStrictEqual(call, next.call);
    assert.equal((await storedEvents(of)).outbox.length, next.events.length);
  }
  for (const { before: of } of [lost, back, invalid]) {
    const call = await storedCall({ db }, of.account_id, of.id);
    assert.deepEqual(call.legs, []);
    assert.deepEqual(await storedEvents(of), { record: [], outbox: [] });
  }
});
