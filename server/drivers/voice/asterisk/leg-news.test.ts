import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { VoiceEvent } from "../driver.ts";
import type { AriEvent } from "./ari-events.ts";
import { openLegNews } from "./leg-news.ts";

type Told = Extract<VoiceEvent, { leg: string }>;

const leg = "trk-1-1-1";

function channel(state: string) {
  return { id: `${leg}_trunkline`, state };
}

const rings: AriEvent = { type: "ChannelStateChange", channel: channel("Ringing") };
const plays: AriEvent = { type: "Dial", peer: channel("Down"), dialstatus: "PROGRESS" };
const leaves: AriEvent = { type: "Dial", peer: channel("Down"), dialstatus: "" };
const is_up: AriEvent = { type: "ChannelStateChange", channel: channel("Up") };
const handed_over: AriEvent = { type: "StasisStart", channel: channel("Up") };
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
  const told: Told[] = [];
  const news = openLegNews("trunkline", (event) => told.push(event as Told));
  let now_ms = 0;
  return {
    news,
    told,
    hear(...events: AriEvent[]) {
      for (const event of events) news.hear(event, new Date(now_ms++));
    },
    ending() {
      const last = told.at(-1);
      assert.ok(last?.type === "ended");
      return last.ending;
    },
  };
}

test("what Asterisk says twice is told once, the answer with its time once the leg can be steered", () => {
  const { hear, told, news } = open();
  hear(leaves, rings, rings, is_up, is_up);
  assert.deepEqual(
    told.map(({ type }) => type),
    ["ringing"],
  );
  hear(handed_over, handed_over, byRequest(false, 16), byRequest(true, 16), ends("Up", 16));
  const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
  assert.deepEqual(told, [
    { type: "ringing", leg, at: new Date(1) },
    { type: "answered", leg, at: new Date(3) },
    { type: "ended", leg, at: new Date(9), ending, answered_at: new Date(3) },
  ]);
  assert.equal(news.size(), 0);
});

test("a leg that hung up before it could be steered was answered all the same", () => {
  const { hear, told } = open();
  hear(leaves, is_up, ends("Up", 16));
  assert.deepEqual(
    told.map(({ type, at }) => [type, at.getTime()]),
    [
      ["answered", 1],
      ["ended", 2],
    ],
  );
});

test("a far end that plays its ringing is heard to ring", () => {
  const { hear, told } = open();
  hear(leaves, plays, ends("Down", 19, 480));
  assert.deepEqual(
    told.map((event) => (event.type === "ended" ? event.ending.outcome : event.type)),
    ["ringing", "no_answer"],
  );
});

test("silence is known only of a leg whose beginning was heard", () => {
  for (const [events, outcome] of [
    [[leaves, ends("Down", 19, 480)], "unreachable"],
    [[ends("Down", 19, 480)], "no_answer"],
    [[leaves, ends("Ringing", 19, 480)], "no_answer"],
  ] as const) {
    const { hear, ending } = open();
    hear(...events);
    assert.equal(ending().outcome, outcome);
  }
});

test("whoever asked for the end first, ended it", () => {
  const { hear, ending, news } = open();
  hear(leaves, rings);
  news.hangingUp(leg);
  hear(byRequest(true, 32), ends("Ringing", 16));
  assert.equal(ending().outcome, "canceled");
  hear(handed_over, byRequest(false, 16));
  news.hangingUp(leg);
  hear(byRequest(true, 32), ends("Up", 16));
  assert.equal(ending().by, "far_end");
});

test("a leg that comes back from listening tells who answered, not that it was answered anew", () => {
  for (const [found, answered_by] of [
    ["HUMAN", "human"],
    ["MACHINE", "machine"],
    ["NOTSURE", "unknown"],
    ["", "unknown"],
  ] as const) {
    const { hear, told } = open();
    hear(handed_over, { ...handed_over, args: ["amd-done", found, "LONGGREETING-1500-1500"] });
    assert.deepEqual(told, [
      { type: "answered", leg, at: new Date(0) },
      { type: "detected", leg, answered_by, at: new Date(1) },
    ]);
  }
});

test("channels of others are none of our legs", () => {
  const { hear, told, news } = open();
  for (const id of ["trunkline-1795296735.0", `${leg}_other`, leg]) {
    hear({ type: "StasisStart", channel: { id, state: "Up" } });
  }
  hear({ type: "ApplicationReplaced" });
  assert.deepEqual([told, news.size()], [[], 0]);
});

test("what a survey shows of a leg never heard of is not told again, and what it misses twice is forgotten", () => {
  const { hear, told, news } = open();
  const at = new Date(0);
  news.surveyed(answered, at);
  hear(handed_over);
  assert.deepEqual(told, []);
  news.surveyed([], at);
  news.surveyed(answered, at);
  news.surveyed([], at);
  assert.equal(news.size(), 1);
  news.surveyed([], at);
  assert.equal(news.size(), 0);
});

test("the end of a leg says that it was answered, also where only a survey showed it", () => {
  const { hear, told, news } = open();
  news.surveyed(answered, new Date(-5));
  hear(ends("Up", 16));
  const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
  const answered_at = new Date(-5);
  assert.deepEqual(told, [{ type: "ended", leg, at: new Date(0), ending, answered_at }]);
  hear(leaves, rings, ends("Ringing", 17, 486));
  const last = told.at(-1);
  assert.deepEqual(last?.type === "ended" && last.answered_at, null);
});

test("whatever comes in whatever order, each is told at most once, in order, and nothing stays", () => {
  const digit: AriEvent = { type: "ChannelDtmfReceived", channel: channel("Up"), digit: "1" };
  const any = fc.constantFrom(leaves, rings, plays, is_up, handed_over, digit, byRequest(true, 32));
  const order = ["ringing", "answered", "ended"];
  fc.assert(
    fc.property(fc.array(any, { maxLength: 12 }), (events) => {
      const { hear, told, news } = open();
      hear(...events, ends("Up", 16));
      const places = told.flatMap(({ type }) => (type === "digit" ? [] : [order.indexOf(type)]));
      assert.deepEqual(
        [...new Set(places)].toSorted((a, b) => a - b),
        places,
      );
      assert.deepEqual([told.at(-1)?.type, news.size()], ["ended", 0]);
    }),
  );
});
