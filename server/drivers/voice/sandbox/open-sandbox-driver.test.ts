import assert from "node:assert/strict";
import { test } from "node:test";
import type { Audio } from "../../../lib/audio/audio.ts";
import type { DialTarget, VoiceEvent, VoiceNode } from "../driver.ts";
import { VoiceError } from "../driver.ts";
import { openSandboxVoiceDriver } from "./open-sandbox-driver.ts";

const node: VoiceNode = { id: 1, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
const began_ms = Date.parse("2026-01-05T10:00:00Z");

/** Time that a test moves: what is due runs, in the order of its times. */
function manualTimers() {
  let now_ms = began_ms;
  let planned: { at_ms: number; run: () => void }[] = [];
  return {
    waiting: () => planned.length,
    timers: {
      now: () => now_ms,
      schedule(run: () => void, delay_ms: number) {
        const entry = { at_ms: now_ms + delay_ms, run };
        planned.push(entry);
        return () => void (planned = planned.filter((one) => one !== entry));
      },
    },
    advance(ms: number) {
      const end_ms = now_ms + ms;
      for (;;) {
        const [next] = planned.toSorted((a, b) => a.at_ms - b.at_ms);
        if (next === undefined || next.at_ms > end_ms) break;
        planned = planned.filter((one) => one !== next);
        now_ms = next.at_ms;
        next.run();
      }
      now_ms = end_ms;
    },
  };
}

function openStanding(pace = 1) {
  const time = manualTimers();
  const driver = openSandboxVoiceDriver({ pace, timers: time.timers });
  /** What is heard, as `<seconds>s <what> <of what>`. */
  const listen = () => {
    const news: string[] = [];
    const session = driver.open(node, (event) => {
      const at = (time.timers.now() - began_ms) / 1_000;
      news.push(`${at}s ${tell(event)}`);
    });
    return { session, news: () => news.splice(0) };
  };
  return { time, driver, listen };
}

function tell(event: VoiceEvent): string {
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

/** An agent and a customer of these numbers, in a bridge two seconds after the beginning. */
async function talking(agent: DialTarget, customer: DialTarget) {
  const opened = openStanding();
  const { session, news } = opened.listen();
  await session.dial(dial("agent", agent));
  opened.time.advance(1_000);
  await session.dial(dial("customer", customer));
  opened.time.advance(1_000);
  await session.bridge("call", ["agent", "customer"]);
  return { ...opened, session, news };
}

test("a call lasts seconds: it rings, is answered, and the customer hangs up after the talk", async () => {
  const { time, news } = await talking(phone("201"), trunk("919812345678"));
  time.advance(60_000);
  assert.deepEqual(news(), [
    "0s connected",
    "0.2s ringing agent",
    "0.7s answered agent",
    "1.2s ringing customer",
    "1.7s answered customer",
    "7s ended customer hung_up",
  ]);
  assert.equal(time.waiting(), 0);
});

test("an agent who is called on a phone stays on the line as well", async () => {
  const { time, news } = await talking(trunk("919812340000"), trunk("919812345678"));
  time.advance(60_000);
  assert.equal(news().at(-1), "7s ended customer hung_up");
});

test("one who presses keys does so after the bridge, each once", async () => {
  const { time, news, session } = await talking(phone("777101"), trunk("919876777900"));
  news();
  time.advance(1_100);
  await session.bridge("call", ["agent", "customer"]);
  await session.dial(dial("other", phone("202")));
  time.advance(1_000);
  await session.bridge("call", ["other"]);
  time.advance(60_000);
  assert.deepEqual(news(), [
    "3s digit agent *",
    "3.25s digit agent 1",
    "3.3s ringing other",
    "3.8s answered other",
  ]);
});

test("a customer who is put through talks as long with whoever comes, and waits alone", async () => {
  const { time, news, session } = await talking(phone("201"), trunk("919812345678"));
  time.advance(4_000);
  await session.hangUp("agent");
  time.advance(10_000);
  await session.dial(dial("other", phone("202")));
  time.advance(1_000);
  news();
  await session.bridge("call", ["customer", "other"]);
  time.advance(60_000);
  assert.deepEqual(news(), ["22s ended customer hung_up"]);
});

test("an agent is steered to hang up first, before the talk or in it", async () => {
  const first = await talking(phone("777902"), trunk("919812345678"));
  first.time.advance(3_000);
  assert.equal(first.news().at(-1), "4s ended agent hung_up");
  const early = openStanding();
  const { session, news } = early.listen();
  await session.dial(dial("agent", phone("777901")));
  early.time.advance(3_000);
  assert.equal(news().at(-1), "1.2s ended agent hung_up");
});

test("one whom nobody answers rings as long as it is said", async () => {
  const { time, listen } = openStanding();
  const { session, news } = listen();
  await session.dial(dial("customer", trunk("919876777480")));
  time.advance(60_000);
  assert.deepEqual(news().slice(1), ["0.2s ringing customer", "30s ended customer no_answer"]);
});

test("the pace divides every time, those it is given as well", async () => {
  const { time, listen } = openStanding(100);
  const { session, news } = listen();
  await session.dial(dial("customer", trunk("919876777480")));
  time.advance(300);
  assert.deepEqual(news(), [
    "0s connected",
    "0.002s ringing customer",
    "0.3s ended customer no_answer",
  ]);
});

test("each open has an epoch of its own, and each node its own legs", async () => {
  const { time, driver, listen } = openStanding();
  const { session } = listen();
  await session.dial(dial("agent", phone("201")));
  const other = driver.open({ ...node, id: 2 }, () => {});
  time.advance(1_000);
  const here = await session.survey();
  assert.deepEqual([here.legs.length, (await other.survey()).legs.length], [1, 0]);
  const again = openStanding().listen().session;
  assert.notEqual((await again.survey()).epoch, here.epoch);
});

test("a connection that is closed or was replaced reaches nothing", async () => {
  const { time, listen } = openStanding();
  const [first, second] = [listen(), listen()];
  time.advance(1);
  assert.deepEqual([first.news(), second.news()], [["0s replaced"], ["0s connected"]]);
  await isUnreachable(first.session.dial(dial("agent", phone("201"))));
  await first.session.close();
  assert.deepEqual((await second.session.survey()).legs, []);
  await second.session.close();
  await isUnreachable(second.session.survey());
});

test("a recording of an earlier process is heard, one that goes on or is deleted is not", async () => {
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

test("a recording is as long as its bridge was recorded", async () => {
  const { time, driver, session, news } = await talking(phone("201"), trunk("919876777900"));
  time.advance(1_000);
  await session.record("call", "trk-1-3");
  time.advance(2_500);
  await session.endBridge("call");
  time.advance(100);
  assert.equal(news().at(-1), "5.51s recorded");
  const stream = await driver.readRecording(node, "trk-1-3");
  assert.ok(stream);
  assert.equal(Buffer.concat((await stream.toArray()) as Buffer[]).length, 44 + 16_000 * 2.5);
});

const audio = (seconds: number): Audio => ({
  name: "a".repeat(64),
  duration_ms: seconds * 1_000,
  read: () => assert.fail("nobody needs the samples"),
});

/** One who was called alone, and has answered a second after the beginning. */
async function answering(number: string) {
  const opened = openStanding();
  const { session, news } = opened.listen();
  await session.dial(dial("customer", trunk(number)));
  opened.time.advance(1_000);
  news();
  return { ...opened, session, news };
}

test("clips take their time, one after the other, and whoever hears them stays", async () => {
  const { time, news, session } = await answering("919812345678");
  await session.play("customer", "one", audio(4));
  await session.play("customer", "two", audio(2));
  time.advance(5_000);
  await session.play("customer", "three", audio(10));
  time.advance(2_000);
  await session.stopPlaying("customer");
  time.advance(60_000);
  assert.deepEqual(news(), ["5s played one", "7s played two", "8.01s played three"]);
  assert.equal(time.waiting(), 0);
});

test("keys are pressed half-way through what is heard first, and once", async () => {
  const { time, news, session } = await answering("919876777701");
  await session.play("customer", "greeting", audio(2));
  await session.play("customer", "menu", audio(2));
  time.advance(1_000);
  await session.stopPlaying("customer");
  time.advance(1_000);
  await session.play("customer", "level", audio(1));
  time.advance(60_000);
  assert.deepEqual(news(), [
    "2s digit customer 1",
    "2.01s played greeting",
    "2.01s played menu",
    "4s played level",
  ]);
});

test("one whom a campaign joins with an agent talks as long as any customer", async () => {
  const { time, news, session } = await answering("919876777209");
  await session.play("customer", "menu", audio(2));
  time.advance(3_000);
  await session.dial(dial("agent", phone("201")));
  time.advance(1_000);
  await session.bridge("call", ["customer", "agent"]);
  time.advance(60_000);
  assert.deepEqual(news(), [
    "2s digit customer 9",
    "3s played menu",
    "4.2s ringing agent",
    "4.7s answered agent",
    "10s ended customer hung_up",
  ]);
});

test("a machine is told from a person by its number", async () => {
  for (const [number, who] of [
    ["919876777205", "machine"],
    ["919812345678", "human"],
  ] as const) {
    const { time, news, session } = await answering(number);
    await session.detect("customer");
    time.advance(60_000);
    assert.deepEqual(news(), [`2.5s detected customer ${who}`]);
  }
});

test("a message is three seconds of speech and the silence that ends it, unless it is ended before", async () => {
  const { time, driver, session, news } = await answering("919812345678");
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
  assert.deepEqual(news(), [
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

test("whoever talks to a service hears what is written in its time, and hangs up five seconds after it", async () => {
  const { time, news, session } = await answering("919876777701");
  const media = await session.openMedia("call", "customer");
  media.write(Buffer.alloc(10_000 * 16));
  time.advance(4_000);
  assert.equal(media.queued_ms(), 6_000);
  media.flush();
  assert.equal(media.queued_ms(), 0);
  media.write(Buffer.alloc(2_000 * 16));
  time.advance(60_000);
  await media.closed;
  assert.deepEqual(news(), ["2s digit customer 1", "12s ended customer hung_up"]);
  assert.equal(time.waiting(), 0);
});

test("only a leg that was answered is bridged", async () => {
  const { time, listen } = openStanding();
  const { session } = listen();
  await session.dial(dial("customer", trunk("919876777480")));
  time.advance(1_000);
  await assert.rejects(session.bridge("call", ["customer"]), { failure: "refused" });
});

test("beyond twenty thousand legs there is no room", async () => {
  const { listen } = openStanding();
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

test("after its close, which may be repeated, nothing is planned and nothing told", async () => {
  const { time, driver, session, news } = await talking(phone("201"), trunk("919812345678"));
  news();
  await driver.close();
  await driver.close();
  assert.equal(time.waiting(), 0);
  time.advance(60_000);
  assert.deepEqual(news(), []);
  await isUnreachable(session.hangUp("agent"));
});

async function isUnreachable(request: Promise<unknown>): Promise<void> {
  await assert.rejects(request, { name: "VoiceError", failure: "unreachable" });
}
