// Events that a node leader missed, from CDRs of a switch whose clock differs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callValue, unansweredLegs } from "../../../../test/support/call-values.ts";
import type { LegRecord } from "../../../drivers/voice/driver.ts";
import type { Leg } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import type { Leader, LiveCall } from "./leader.ts";
import { dispatchMissed, findEnds } from "./reconcile-calls.ts";

const noon_ms = Date.parse("2026-03-01T12:00:00Z");
/** So many seconds after noon. */
const time = (seconds: number) => new Date(noon_ms + seconds * 1_000);
const hung_up = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
const busy = { outcome: "busy", cause: 17, sip_status: 486, by: "far_end" } as const;

/** A call whose legs the switch does not show any more. */
function missing(legs: readonly Partial<Leg>[], now: Date, adopted_legs = legs.length) {
  const live_leg = { ended_at: null, outcome: null, cause: null, sip_status: null } as const;
  const found = new Map<string, LegRecord>();
  const events: CallEvent[] = [];
  const call = callValue({
    legs: unansweredLegs(
      legs.map((_, i) => `10${i}`),
      live_leg,
    ).map((leg, i) => ({ ...leg, ...legs[i] })),
  });
  const live = { call, adopted_legs, missing: new Map() } as unknown as LiveCall;
  const leader = {
    app: { clock: { now: () => now } },
    session: {
      findCdrs: async (names: string[]) =>
        new Map(
          [...found].map(([id, record]) => [names.find((name) => name.endsWith(`-${id}`)), record]),
        ),
    },
    calls: new Map([["call", live]]),
    times: { missing_ms: 0 },
    last_seen_at: null,
    disconnected_since_ms: null,
    restarted: false,
    dispatch: (_live: LiveCall, event: CallEvent) => void events.push(event),
  } as unknown as Leader;
  return {
    events,
    /** The leg's CDR. */
    record: (leg: number, record: LegRecord) => void found.set(String(leg), record),
    async reconcile() {
      const ends = await findEnds(leader, () => true);
      dispatchMissed(leader, live, ends.get(live)!);
      return events.map((event) => (event.type === "ended" ? event : assert.fail(event.type)));
    },
  };
}

for (const [name, offset] of [
  ["ahead", 240],
  ["behind", -240],
] as const) {
  test(`bills a leg by the length of its CDR if the switch's clock is four minutes ${name}`, async () => {
    const { record, reconcile } = missing([{ state: "answered", answered_at: time(0) }], time(600));
    record(1, { answered_at: time(offset), ended_at: time(offset + 180), ending: hung_up });
    const [ended] = await reconcile();
    assert.deepEqual([ended?.at, ended?.ending], [time(180), hung_up]);
  });
}

test("never ends a leg in the future whose answer was stored late", async () => {
  const { record, reconcile } = missing([{ state: "answered", answered_at: time(30) }], time(45));
  record(1, { answered_at: time(0), ended_at: time(40), ending: hung_up });
  assert.deepEqual((await reconcile())[0]?.at, time(45));
});

test("the party that hung up first by the switch's clock ends first, also if only the other's answer is known", async () => {
  const { record, reconcile } = missing(
    [
      { state: "answered", answered_at: time(0) },
      { role: "customer", state: "ringing" },
    ],
    time(600),
  );
  record(1, { answered_at: time(240), ended_at: time(400), ending: hung_up });
  record(2, { answered_at: time(260), ended_at: time(390), ending: hung_up });
  assert.deepEqual(
    (await reconcile()).map(({ leg, at }) => [leg, at]),
    [
      [2, time(390)],
      [1, time(160)],
    ],
  );
});

test("never dials a leg again that may have a CDR, even of a switch whose clock is behind", async () => {
  const dialing = { state: "dialing", initiated_at: time(0), ringing_at: null } as const;
  const outcome = async (record: LegRecord | null) => {
    const at_switch = missing([dialing], time(60));
    if (record) at_switch.record(1, record);
    return (await at_switch.reconcile())[0]?.ending.outcome;
  };
  assert.equal(await outcome(null), "unplaced");
  assert.equal(await outcome({ answered_at: null, ended_at: time(-240), ending: busy }), "busy");
  assert.equal(await outcome({ answered_at: null, ended_at: time(-360), ending: busy }), "lost");
  // Of an earlier database.
  const older = { answered_at: null, ended_at: time(-90_000), ending: busy };
  assert.equal(await outcome(older), "unplaced");
});

test("never dials a leg again that this node leader dialed in a call it took over", async () => {
  const legs = [
    { state: "answered", answered_at: time(0) },
    { role: "customer", state: "dialing", initiated_at: time(5), ringing_at: null },
  ] as const;
  const outcomes = async (adopted_legs: number) =>
    (await missing(legs, time(60), adopted_legs).reconcile()).map(({ ending }) => ending.outcome);
  assert.deepEqual(await outcomes(1), ["lost", "lost"]);
  assert.deepEqual(await outcomes(2), ["lost", "unplaced"]);
});
