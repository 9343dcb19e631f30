import assert from "node:assert/strict";
import { test } from "node:test";
import type { Audio } from "../../../lib/audio/audio.ts";
import type { DialTarget, VoiceEvent, VoiceNode } from "../driver.ts";
import { VoiceError } from "../driver.ts";
import { openSandboxVoiceDriver } from "./open-sandbox-driver.ts";

const node: VoiceNode = { id: 1, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
const start_ms = Date.parse("2026-01-05T10:00:00Z");

/** A manual clock: `advance` runs the timers that are due, in order. */
function manualTimers() {
  let now_ms = start_ms;
  let scheduled: { at_ms: number; run: () => void }[] = [];
  return {
    pending: () => scheduled.length,
    timers: {
      now: () => now_ms,
      schedule(run: () => void, delay_ms: number) {
        const entry = { at_ms: now_ms + delay_ms, run };
        scheduled.push(entry);
        return () => void (scheduled = scheduled.filter((one) => one !== entry));
      },
    },
    advance(ms: number) {
      const end_ms = now_ms + ms;
      for (;;) {
        const [next] = scheduled.toSorted((a, b) => a.at_ms - b.at_ms);
        if (next === undefined || next.at_ms > end_ms) break;
        scheduled = scheduled.filter((one) => one !== next);
        now_ms = next.at_ms;
        next.run();
      }
      now_ms = end_ms;
    },
  };
}

function openDriver(pace = 1) {
  const time = manualTimers();
  const driver = openSandboxVoiceDriver({ pace, timers: time.timers });
  /** Opens a session whose events are collected as `<seconds>s <type> <subject>`. */
  const listen = () => {
    const lines: string[] = [];
    const session = driver.open(node, (event) => {
      const at = (time.timers.now() - start_ms) / 1_000;
      lines.push(`${at}s ${describe(event)}`);
    });
    return { session, events: () => lines.splice(0) };
  };
  return { time, driver, listen };
}

function describe(event: VoiceEvent): string {
  if (event.type === "digit") return `digit ${event.leg} ${event.digit}`;
  if (event.type === "ended") return `ended ${event.leg} ${event.ending.outcome}`;
  if (event.type === "played") return `played ${event.playback}`;
  if (event.type === "detected") return `detected ${event.leg} ${event.answered_by}`;
  if ("leg" in event) return `${event.type} ${event.leg}`;
  return event.type;
}

const trunk = (number: string): DialTarget => ({ kind: "trunk", endpoint: "carrier", number });
const phone = (number: string): DialTarget => ({ kind: "extension", endpoint: number, number });
const dial = (leg: string, to: DialTarget, call = "call") => ({
  leg,
  call,
  to,
  caller_id: "918000000001",
  ring_seconds: 30,
});

/** Dials an agent and a customer and bridges them two seconds after the start. */
async function talking(agent: DialTarget, customer: DialTarget) {
  const opened = openDriver();
  const { session, events } = opened.listen();
  await session.dial(dial("agent", agent));
  opened.time.advance(1_000);
  await session.dial(dial("customer", customer));
  opened.time.advance(1_000);
  await session.bridge("call", ["agent", "customer"]);
  return { ...opened, session, events };
}

test("a phone rings before it answers, in whatever order a busy process runs its timers", async () => {
  let scheduled: { delay_ms: number; run: () => void }[] = [];
  const schedule = (run: () => void, delay_ms: number) => {
    const entry = { delay_ms, run };
    scheduled.push(entry);
    return () => void (scheduled = scheduled.filter((one) => one !== entry));
  };
  /** Runs what is due within two seconds, the longest delay first. */
  const runLate = () => {
    for (;;) {
      const due = scheduled.filter(({ delay_ms }) => delay_ms < 2_000);
      const [next] = due.toSorted((a, b) => b.delay_ms - a.delay_ms);
      if (next === undefined) return;
      scheduled = scheduled.filter((one) => one !== next);
      next.run();
    }
  };
  const driver = openSandboxVoiceDriver({ timers: { now: () => start_ms, schedule } });
  const lines: string[] = [];
  const session = driver.open(node, (event) => void lines.push(describe(event)));
  runLate();
  await session.dial(dial("a", phone("101")));
  runLate();
  assert.deepEqual(lines, ["connected", "ringing a", "answered a"]);
});

test("a call rings, is answered, and ends when the customer hangs up after five seconds of talk", async () => {
  const { time, events } = await talking(phone("201"), trunk("919812345678"));
  time.advance(60_000);
  assert.deepEqual(events(), [
    "0s connected",
    "0.2s ringing agent",
    "0.7s answered agent",
    "1.2s ringing customer",
    "1.7s answered customer",
    "7s ended customer hung_up",
  ]);
  assert.equal(time.pending(), 0);
});

test("an agent on an outside number does not hang up either", async () => {
  const { time, events } = await talking(trunk("919812340000"), trunk("919812345678"));
  time.advance(60_000);
  assert.equal(events().at(-1), "7s ended customer hung_up");
});

test("keys are pressed after the bridge, each once", async () => {
  const { time, events, session } = await talking(phone("777101"), trunk("919876777900"));
  events();
  time.advance(1_100);
  await session.bridge("call", ["agent", "customer"]);
  await session.dial(dial("other", phone("202")));
  time.advance(1_000);
  await session.bridge("call", ["other"]);
  time.advance(60_000);
  assert.deepEqual(events(), [
    "3s digit agent *",
    "3.25s digit agent 1",
    "3.3s ringing other",
    "3.8s answered other",
  ]);
});

test("a transferred customer waits alone and then talks for the full time again", async () => {
  const { time, events, session } = await talking(phone("201"), trunk("919812345678"));
  time.advance(4_000);
  await session.hangUp("agent");
  time.advance(10_000);
  await session.dial(dial("other", phone("202")));
  time.advance(1_000);
  events();
  await session.bridge("call", ["customer", "other"]);
  time.advance(60_000);
  assert.deepEqual(events(), ["22s ended customer hung_up"]);
});

test("a number makes the agent hang up first, before or during the talk", async () => {
  const first = await talking(phone("777902"), trunk("919812345678"));
  first.time.advance(3_000);
  assert.equal(first.events().at(-1), "4s ended agent hung_up");
  const early = openDriver();
  const { session, events } = early.listen();
  await session.dial(dial("agent", phone("777901")));
  early.time.advance(3_000);
  assert.equal(events().at(-1), "1.2s ended agent hung_up");
});

test("an unanswered leg rings for its ring time", async () => {
  const { time, listen } = openDriver();
  const { session, events } = listen();
  await session.dial(dial("customer", trunk("919876777480")));
  time.advance(60_000);
  assert.deepEqual(events().slice(1), ["0.2s ringing customer", "30s ended customer no_answer"]);
});

test("the pace divides all times, including those in requests", async () => {
  const { time, listen } = openDriver(100);
  const { session, events } = listen();
  await session.dial(dial("customer", trunk("919876777480")));
  time.advance(300);
  assert.deepEqual(events(), [
    "0s connected",
    "0.002s ringing customer",
    "0.3s ended customer no_answer",
  ]);
});

test("each driver has its own epoch and each node its own legs", async () => {
  const { time, driver, listen } = openDriver();
  const { session } = listen();
  await session.dial(dial("agent", phone("201")));
  const other = driver.open({ ...node, id: 2 }, () => {});
  time.advance(1_000);
  const here = await session.snapshot();
  assert.deepEqual([here.legs.length, (await other.snapshot()).legs.length], [1, 0]);
  const again = openDriver().listen().session;
  assert.notEqual((await again.snapshot()).epoch, here.epoch);
});

test("requests of a closed or replaced session fail as unreachable", async () => {
  const { time, listen } = openDriver();
  const [first, second] = [listen(), listen()];
  time.advance(1);
  assert.deepEqual([first.events(), second.events()], [["0s replaced"], ["0s connected"]]);
  await assertUnreachable(first.session.dial(dial("agent", phone("201"))));
  await first.session.close();
  assert.deepEqual((await second.session.snapshot()).legs, []);
  await second.session.close();
  await assertUnreachable(second.session.snapshot());
});

test("a recording of an earlier process can be read; one in progress or deleted cannot", async () => {
  const { driver, session } = await talking(phone("201"), trunk("919876777900"));
  assert.equal(await bytesOf("trk-1-1"), 44 + 16_000 * 5);
  await session.record("call", "trk-1-2");
  assert.equal(await driver.readRecording(node, "trk-1-2"), null);
  await driver.deleteRecording(node, "trk-1-1");
  assert.equal(await driver.readRecording(node, "trk-1-1"), null);

  async function bytesOf(recording: string): Promise<number> {
    const stream = await driver.readRecording(node, recording);
    assert.ok(stream);
    return Buffer.concat((await stream.toArray()) as Buffer[]).length;
  }
});

test("the length of a recording is the time for which its bridge was recorded", async () => {
  const { time, driver, session, events } = await talking(phone("201"), trunk("919876777900"));
  time.advance(1_000);
  await session.record("call", "trk-1-3");
  time.advance(2_500);
  await session.endBridge("call");
  time.advance(100);
  assert.equal(events().at(-1), "5.51s recorded");
  const stream = await driver.readRecording(node, "trk-1-3");
  assert.ok(stream);
  assert.equal(Buffer.concat((await stream.toArray()) as Buffer[]).length, 44 + 16_000 * 2.5);
});

const audio = (seconds: number): Audio => ({
  owner: "1",
  name: "a".repeat(64),
  duration_ms: seconds * 1_000,
  read: () => assert.fail("the sandbox does not read samples"),
});

/** Dials a customer without an agent; answered one second after the start. */
async function answering(number: string) {
  const opened = openDriver();
  const { session, events } = opened.listen();
  await session.dial(dial("customer", trunk(number)));
  opened.time.advance(1_000);
  events();
  return { ...opened, session, events };
}

test("audio plays one after another in real time, and the leg does not hang up", async () => {
  const { time, events, session } = await answering("919812345678");
  await session.play("customer", "one", audio(4));
  await session.play("customer", "two", audio(2));
  time.advance(5_000);
  await session.play("customer", "three", audio(10));
  time.advance(2_000);
  await session.stopPlaying("customer");
  time.advance(60_000);
  assert.deepEqual(events(), ["5s played one", "7s played two", "8.01s played three"]);
  assert.equal(time.pending(), 0);
});

test("keys are pressed halfway through the first audio, and once", async () => {
  const { time, events, session } = await answering("919876777701");
  await session.play("customer", "greeting", audio(2));
  await session.play("customer", "menu", audio(2));
  time.advance(1_000);
  await session.stopPlaying("customer");
  time.advance(1_000);
  await session.play("customer", "level", audio(1));
  time.advance(60_000);
  assert.deepEqual(events(), [
    "2s digit customer 1",
    "2.01s played greeting",
    "2.01s played menu",
    "4s played level",
  ]);
});

test("a campaign's customer who is bridged with an agent hangs up like any customer", async () => {
  const { time, events, session } = await answering("919876777209");
  await session.play("customer", "menu", audio(2));
  time.advance(3_000);
  await session.dial(dial("agent", phone("201")));
  time.advance(1_000);
  await session.bridge("call", ["customer", "agent"]);
  time.advance(60_000);
  assert.deepEqual(events(), [
    "2s digit customer 9",
    "3s played menu",
    "4.2s ringing agent",
    "4.7s answered agent",
    "10s ended customer hung_up",
  ]);
});

test("a number that ends in 77770 and a digit presses that digit", async () => {
  for (const key of "0123456789") {
    const { time, events, session } = await answering(`91987677770${key}`);
    await session.play("customer", "menu", audio(2));
    time.advance(3_000);
    assert.deepEqual(events(), [`2s digit customer ${key}`, "3s played menu"]);
  }
});

test("the number decides whether AMD detects a machine or a person", async () => {
  for (const [number, who] of [
    ["919876777205", "machine"],
    ["919812345678", "human"],
  ] as const) {
    const { time, events, session } = await answering(number);
    await session.detect("customer");
    time.advance(60_000);
    assert.deepEqual(events(), [`2.5s detected customer ${who}`]);
  }
});

test("a message lasts three seconds plus the silence that ends it, unless it ends earlier", async () => {
  const { time, driver, session, events } = await answering("919812345678");
  const lengthOf = async (recording: string) => {
    const stream = await driver.readRecording(node, recording);
    return stream && (Buffer.concat((await stream.toArray()) as Buffer[]).length - 44) / 16_000;
  };
  await session.recordMessage("customer", "whole", { max_seconds: 60, silence_seconds: 2 });
  time.advance(10_000);
  await session.recordMessage("customer", "long", { max_seconds: 4, silence_seconds: 2 });
  time.advance(10_000);
  await session.recordMessage("customer", "cut", { max_seconds: 60, silence_seconds: 30 });
  time.advance(1_000);
  assert.equal(await lengthOf("cut"), null);
  await session.hangUp("customer");
  time.advance(60_000);
  assert.deepEqual(events(), [
    "6.01s recorded",
    "15.01s recorded",
    "22.01s ended customer hung_up",
    "22.02s recorded",
  ]);
  assert.deepEqual(
    [await lengthOf("whole"), await lengthOf("long"), await lengthOf("cut")],
    [5, 4, 1.01],
  );
});

test("media plays in real time, and the leg hangs up after five seconds of silence", async () => {
  const { time, events, session } = await answering("919876777701");
  const media = await session.openMedia("call", "customer");
  media.write(Buffer.alloc(10_000 * 16));
  time.advance(4_000);
  assert.equal(media.queued_ms(), 6_000);
  media.flush();
  assert.equal(media.queued_ms(), 0);
  media.write(Buffer.alloc(2_000 * 16));
  time.advance(60_000);
  await media.closed;
  assert.deepEqual(events(), ["2s digit customer 1", "12s ended customer hung_up"]);
  assert.equal(time.pending(), 0);
});

test("a leg cannot be bridged before it is answered", async () => {
  const { time, listen } = openDriver();
  const { session } = listen();
  await session.dial(dial("customer", trunk("919876777480")));
  time.advance(1_000);
  await assert.rejects(session.bridge("call", ["customer"]), { failure: "refused" });
});

test("a leg beyond the maximum of 20,000 is refused as congestion", async () => {
  const { listen } = openDriver();
  const { session } = listen();
  for (let index = 0; index < 20_000; index += 1)
    await session.dial(dial(`leg-${index}`, phone("201"), `call-${index}`));
  await assert.rejects(session.dial(dial("one-more", phone("201"))), (error) => {
    assert.ok(error instanceof VoiceError);
    assert.deepEqual(error.ending, {
      outcome: "congestion",
      cause: 34,
      sip_status: 503,
      by: "far_end",
    });
    return true;
  });
});

test("a closed driver has no timers and reports nothing; closing it again has no effect", async () => {
  const { time, driver, session, events } = await talking(phone("201"), trunk("919812345678"));
  events();
  await driver.close();
  await driver.close();
  assert.equal(time.pending(), 0);
  time.advance(60_000);
  assert.deepEqual(events(), []);
  await assertUnreachable(session.hangUp("agent"));
});

async function assertUnreachable(request: Promise<unknown>): Promise<void> {
  await assert.rejects(request, { name: "VoiceError", failure: "unreachable" });
}
