import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { VoiceEvent } from "../driver.ts";
import type { AriEvent } from "./ari-events.ts";
import { openLegTracker } from "./track-legs.ts";

type LegEvent = Extract<VoiceEvent, { leg: string }>;

const leg = "trk-1-1-1";

function channel(state: string) {
  return { id: `${leg}_trunkline`, state };
}

const rings: AriEvent = { type: "ChannelStateChange", channel: channel("Ringing") };
const early_media: AriEvent = { type: "Dial", peer: channel("Down"), dialstatus: "PROGRESS" };
const invited: AriEvent = { type: "Dial", peer: channel("Down"), dialstatus: "" };
const is_up: AriEvent = { type: "ChannelStateChange", channel: channel("Up") };
const in_stasis: AriEvent = { type: "StasisStart", channel: channel("Up") };
const byRequest = (soft: boolean, cause: number): AriEvent => ({
  type: "ChannelHangupRequest",
  channel: channel("Up"),
  soft,
  cause,
});

function ends(state: string, cause: number, tech_cause?: number): AriEvent {
  const end = { type: "ChannelDestroyed", channel: channel(state), cause } as const;
  return tech_cause === undefined ? end : { ...end, tech_cause };
}

const answered = [{ leg, call: "trk-1-1", state: "answered" as const }];

function open() {
  const reported: LegEvent[] = [];
  const tracker = openLegTracker("trunkline", (event) => reported.push(event as LegEvent));
  let now_ms = 0;
  return {
    tracker,
    reported,
    receive(...events: AriEvent[]) {
      for (const event of events) tracker.onAriEvent(event, new Date(now_ms++));
    },
    ending() {
      const last = reported.at(-1);
      assert.ok(last?.type === "ended");
      return last.ending;
    },
  };
}

test("duplicate ARI events are reported once; the answer is reported with its time once the leg is in Stasis", () => {
  const { receive, reported, tracker } = open();
  receive(invited, rings, rings, is_up, is_up);
  assert.deepEqual(
    reported.map(({ type }) => type),
    ["ringing"],
  );
  receive(in_stasis, in_stasis, byRequest(false, 16), byRequest(true, 16), ends("Up", 16));
  const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
  assert.deepEqual(reported, [
    { type: "ringing", leg, at: new Date(1) },
    { type: "answered", leg, at: new Date(3) },
    { type: "ended", leg, at: new Date(9), ending, answered_at: new Date(3) },
  ]);
  assert.equal(tracker.size(), 0);
});

test("a leg that was answered and ended before it entered Stasis is reported as answered", () => {
  const { receive, reported } = open();
  receive(invited, is_up, ends("Up", 16));
  assert.deepEqual(
    reported.map(({ type, at }) => [type, at.getTime()]),
    [
      ["answered", 1],
      ["ended", 2],
    ],
  );
});

test("early media counts as ringing", () => {
  const { receive, reported } = open();
  receive(invited, early_media, ends("Down", 19, 480));
  assert.deepEqual(
    reported.map((event) => (event.type === "ended" ? event.ending.outcome : event.type)),
    ["ringing", "no_answer"],
  );
});

test("a leg is unreachable by silence only if the session saw its INVITE", () => {
  for (const [events, outcome] of [
    [[invited, ends("Down", 19, 480)], "unreachable"],
    [[ends("Down", 19, 480)], "no_answer"],
    [[invited, ends("Ringing", 19, 480)], "no_answer"],
  ] as const) {
    const { receive, ending } = open();
    receive(...events);
    assert.equal(ending().outcome, outcome);
  }
});

test("a 403 is a refusal by the carrier until the phone rings or sends early media", () => {
  for (const [events, outcome] of [
    [[invited], "failed"],
    [[invited, rings], "declined"],
    [[invited, early_media], "declined"],
  ] as const) {
    const { receive, ending } = open();
    receive(...events, byRequest(false, 21), ends("Down", 21, 403));
    assert.equal(ending().outcome, outcome);
  }
});

test("the side that requested the hangup first ended the leg", () => {
  const { receive, ending, tracker } = open();
  receive(invited, rings);
  tracker.hangingUp(leg);
  receive(byRequest(true, 32), ends("Ringing", 16));
  assert.equal(ending().outcome, "canceled");
  receive(in_stasis, byRequest(false, 16));
  tracker.hangingUp(leg);
  receive(byRequest(true, 32), ends("Up", 16));
  assert.equal(ending().by, "far_end");
});

test("a leg that returns from AMD reports the result and no second answer", () => {
  for (const [found, answered_by] of [
    ["HUMAN", "human"],
    ["MACHINE", "machine"],
    ["NOTSURE", "unknown"],
    ["", "unknown"],
  ] as const) {
    const { receive, reported } = open();
    receive(in_stasis, { ...in_stasis, args: ["amd-done", found, "LONGGREETING-1500-1500"] });
    assert.deepEqual(reported, [
      { type: "answered", leg, at: new Date(0) },
      { type: "detected", leg, answered_by, at: new Date(1) },
    ]);
  }
});

test("channels of other applications are ignored", () => {
  const { receive, reported, tracker } = open();
  for (const id of ["trunkline-1795296735.0", `${leg}_other`, leg]) {
    receive({ type: "StasisStart", channel: { id, state: "Up" } });
  }
  receive({ type: "ApplicationReplaced" });
  assert.deepEqual([reported, tracker.size()], [[], 0]);
});

test("a leg from a snapshot is not reported again, and a leg that two snapshots miss is removed", () => {
  const { receive, reported, tracker } = open();
  const at = new Date(0);
  tracker.onSnapshot(answered, at);
  receive(in_stasis);
  assert.deepEqual(reported, []);
  tracker.onSnapshot([], at);
  tracker.onSnapshot(answered, at);
  tracker.onSnapshot([], at);
  assert.equal(tracker.size(), 1);
  tracker.onSnapshot([], at);
  assert.equal(tracker.size(), 0);
});

test("the end of a leg has the time of its answer, even if only a snapshot showed the answer", () => {
  const { receive, reported, tracker } = open();
  tracker.onSnapshot(answered, new Date(-5));
  receive(ends("Up", 16));
  const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
  const answered_at = new Date(-5);
  assert.deepEqual(reported, [{ type: "ended", leg, at: new Date(0), ending, answered_at }]);
  receive(invited, rings, ends("Ringing", 17, 486));
  const last = reported.at(-1);
  assert.deepEqual(last?.type === "ended" && last.answered_at, null);
});

test("events in any order are reported at most once each, in order, and the leg is removed at its end", () => {
  const digit: AriEvent = { type: "ChannelDtmfReceived", channel: channel("Up"), digit: "1" };
  const any = fc.constantFrom(
    invited,
    rings,
    early_media,
    is_up,
    in_stasis,
    digit,
    byRequest(true, 32),
  );
  const order = ["ringing", "answered", "ended"];
  fc.assert(
    fc.property(fc.array(any, { maxLength: 12 }), (events) => {
      const { receive, reported, tracker } = open();
      receive(...events, ends("Up", 16));
      const places = reported.flatMap(({ type }) =>
        type === "digit" ? [] : [order.indexOf(type)],
      );
      assert.deepEqual(
        [...new Set(places)].toSorted((a, b) => a - b),
        places,
      );
      assert.deepEqual([reported.at(-1)?.type, tracker.size()], ["ended", 0]);
    }),
  );
});
