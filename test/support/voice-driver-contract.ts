// The contract suite of voice drivers, which every driver passes.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, afterEach, before, beforeEach, suite, test } from "node:test";
import {
  leg_outcomes,
  VoiceError,
  type AnsweredBy,
  type Dial,
  type DialTarget,
  type Ending,
  type LegOutcome,
  type LegRecord,
  type MessageLimits,
  type VoiceDriver,
  type VoiceEvent,
  type VoiceNode,
  type VoiceSession,
} from "../../server/drivers/voice/driver.ts";
import { bytes_per_ms, type Audio } from "../../server/lib/audio/audio.ts";
import { eventually } from "./eventually.ts";
import { readWav } from "./read-wav.ts";

/** Far ends by behavior. The first four ring before they answer. */
export type FarEnds = {
  /** Answers within seconds, sends audio that a recording contains, and never hangs up. */
  readonly stays: DialTarget;
  /** Answers, and hangs up within seconds, even without a bridge. */
  readonly hangs_up: DialTarget;
  /** Answers like a person. */
  readonly human: DialTarget;
  /** Answers like an answering machine. */
  readonly machine: DialTarget;
  /** Answers, and presses 1 once within seconds of being bridged with another leg. */
  readonly presses_1: DialTarget;
  /** Rings without end. */
  readonly rings: DialTarget;
  readonly declined: DialTarget;
  readonly busy: DialTarget;
  readonly unallocated: DialTarget;
  readonly invalid: DialTarget;
  readonly congestion: DialTarget;
  /** A phone that is not registered. */
  readonly unreachable: DialTarget;
};

export type VoiceDriverUnderTest = {
  readonly driver: VoiceDriver;
  /** A switch without legs and without other sessions. */
  readonly node: VoiceNode;
  readonly far_ends: FarEnds;
  /** A person calls over a trunk; resolves when the call is refused or has ended. */
  callIn(from: string, to: string): Promise<void>;
  close(): Promise<void>;
};

type Connection = { readonly session: VoiceSession; readonly events: readonly VoiceEvent[] };
type LegEvent = Extract<VoiceEvent, { leg: string }>;

const caller_id = "918000000001";
const message_limits: MessageLimits = { max_seconds: 60, silence_seconds: 30 };
/** A real switch rings for seconds and writes CDRs late. */
const patience_s = 120;
/** The length of a recording, and the tolerance for its file. */
const recorded_ms = 1_500;
const recording_tolerance_ms = 700;
/** Less than the offset of a time zone, more than the delay of a busy machine. */
const clock_tolerance_ms = 15 * 60_000;
/** Longer than any test: audio that ends earlier was stopped. */
const endless_ms = 400_000;

/** Registers the suite. `open` returns a driver with its own switch. Tests run one after another. */
export function voiceDriverContract(name: string, open: () => Promise<VoiceDriverUnderTest>): void {
  suite(`voice driver contract: ${name}`, () => {
    let under: VoiceDriverUnderTest;
    /** The connection of the current test; `log` has the events of all connections. */
    let line: Connection;
    const log: VoiceEvent[] = [];
    const run = Date.now().toString(36);
    let count = 0;

    const connect = async (): Promise<Connection & { readonly epoch: string }> => {
      const events: VoiceEvent[] = [];
      const session = under.driver.open(under.node, (event) => {
        events.push(event);
        log.push(event);
      });
      await until(() => events.some(({ type }) => type === "connected"));
      const [first] = events;
      assert.ok(first?.type === "connected", "the first event is `connected`");
      return { session, events, epoch: first.epoch };
    };
    const fresh = (kind: string) => `contract-${run}-${kind}-${++count}`;
    const legTo = (to: DialTarget, more: Partial<Dial> = {}): Dial => {
      const leg = fresh("leg");
      return { leg, call: `${leg}-call`, to, caller_id, ring_seconds: 60, ...more };
    };
    const eventsFor = (leg: string, { events } = line): LegEvent[] =>
      events.filter((event): event is LegEvent => "leg" in event && event.leg === leg);
    const typesOf = (leg: string, { events } = line) =>
      eventsFor(leg, { ...line, events }).map(({ type }) => type);
    const received = (leg: string, type: LegEvent["type"], { events } = line) =>
      until(() => events.some((event) => event.type === type && event.leg === leg));
    const endingOf = async (leg: string, connection = line): Promise<Ending> => {
      await received(leg, "ended", connection);
      const last = eventsFor(leg, connection).at(-1);
      assert.ok(last?.type === "ended", `no event of ${leg} follows its end`);
      return last.ending;
    };
    /** Dials and waits for the answer. */
    const answered = async (to: DialTarget, more: Partial<Dial> = {}): Promise<string> => {
      const dial = legTo(to, more);
      await line.session.dial(dial);
      await received(dial.leg, "answered");
      return dial.leg;
    };
    const audioOf = (duration_ms: number): Audio => ({
      owner: "1",
      name: createHash("sha256").update(`${duration_ms} ms`).digest("hex"),
      duration_ms,
      read: async () => Buffer.alloc(duration_ms * bytes_per_ms),
    });
    const playedOn = (leg: string, { events } = line) =>
      events.flatMap((event) =>
        event.type === "played" && event.leg === leg ? [[event.playback, event.ok] as const] : [],
      );
    const recorded = async (recording: string): Promise<boolean> => {
      const reported = () =>
        line.events.filter((event) => event.type === "recorded" && event.recording === recording);
      await until(() => reported().length > 0);
      const [first, ...more] = reported();
      assert.ok(first?.type === "recorded" && more.length === 0);
      return first.ok;
    };
    const live = async () => (await line.session.snapshot()).legs.map(({ leg }) => leg);

    before(async () => {
      under = await open();
    });
    after(() => under.close());
    beforeEach(async () => {
      line = await connect();
    });
    afterEach(async () => {
      const { legs, bridges } = await line.session.snapshot();
      for (const { leg } of legs) await line.session.hangUp(leg);
      for (const bridge of bridges) await line.session.endBridge(bridge);
      await until(async () => (await live()).length === 0);
      await line.session.close();
    });

    test("ringing, answer and end of a leg are reported once each, in order, with their times", async () => {
      const started = Date.now();
      const leg = await answered(under.far_ends.hangs_up);
      const ending = await endingOf(leg);
      const events = eventsFor(leg);
      assert.deepEqual(typesOf(leg), ["ringing", "answered", "ended"]);
      const last = events.at(-1);
      assert.deepEqual(last?.type === "ended" && last.answered_at, events[1]?.at);
      assert.deepEqual([ending.outcome, ending.by], ["hung_up", "far_end"]);
      const times = events.map(({ at }) => at.getTime());
      assert.deepEqual(times.toSorted(byNumber), times);
      assert.ok(times.every((time) => Math.abs(time - started) < clock_tolerance_ms));
    });

    const failures: Readonly<Record<string, readonly [keyof FarEnds, Ending]>> = {
      "486 ends as busy": ["busy", failing("busy", 17, 486)],
      "603 ends as declined": ["declined", failing("declined", 21, 603)],
      "404 ends as unallocated": ["unallocated", failing("unallocated", 1, 404)],
      "484 ends as invalid": ["invalid", failing("invalid", 28, 484)],
      "503 ends as congestion": ["congestion", failing("congestion", 34, 503)],
    };
    for (const [status_and_outcome, [far_end, ending]] of Object.entries(failures)) {
      test(`a far end that responds ${status_and_outcome}`, () => failsWith(far_end, ending));
    }

    async function failsWith(far_end: keyof FarEnds, ending: Ending): Promise<void> {
      const dial = legTo(under.far_ends[far_end]);
      await line.session.dial(dial);
      assert.deepEqual(await endingOf(dial.leg), ending);
      assert.ok(!typesOf(dial.leg).includes("answered"));
    }

    test("a phone that is not registered is unreachable, as a refusal or as an ending", async () => {
      const dial = legTo(under.far_ends.unreachable);
      const refused = await failureOf(line.session.dial(dial));
      if (refused) assert.equal(refused.failure, "refused");
      const ending = refused ? refused.ending : await endingOf(dial.leg);
      assert.equal(ending?.outcome, "unreachable");
      assert.ok(!(await live()).includes(dial.leg));
    });

    test("a leg with an empty or malformed caller ID is refused as invalid", async () => {
      for (const bad of ["", "anonymous"]) {
        const dial = legTo(under.far_ends.human, { caller_id: bad });
        const error = await failureOf(line.session.dial(dial));
        assert.deepEqual([error?.failure, error?.ending?.outcome], ["refused", "invalid"]);
      }
      assert.deepEqual(await live(), []);
    });

    test("an unanswered leg ends after its ring time, not before", async () => {
      const dial = legTo(under.far_ends.rings, { ring_seconds: 2 });
      const longer = legTo(under.far_ends.rings);
      await line.session.dial(longer);
      await line.session.dial(dial);
      assert.equal((await endingOf(dial.leg)).outcome, "no_answer");
      assert.deepEqual(typesOf(dial.leg), ["ringing", "ended"]);
      assert.deepEqual(typesOf(longer.leg), ["ringing"]);
    });

    test("hanging up a ringing leg cancels it", async () => {
      const dial = legTo(under.far_ends.rings);
      await line.session.dial(dial);
      await received(dial.leg, "ringing");
      await line.session.hangUp(dial.leg);
      const { outcome, by } = await endingOf(dial.leg);
      assert.deepEqual([outcome, by], ["canceled", "us"]);
    });

    test("hanging up a leg right after the dial cancels it", async () => {
      const dial = legTo(under.far_ends.rings);
      await line.session.dial(dial);
      await line.session.hangUp(dial.leg);
      assert.equal((await endingOf(dial.leg)).outcome, "canceled");
    });

    test("hanging up an answered leg twice reports one end", async () => {
      const leg = await answered(under.far_ends.stays);
      await Promise.all([line.session.hangUp(leg), line.session.hangUp(leg, 17)]);
      const { outcome, by } = await endingOf(leg);
      assert.deepEqual([outcome, by], ["hung_up", "us"]);
    });

    test("requests for a leg or bridge that does not exist succeed", async () => {
      const gone = await answered(under.far_ends.stays);
      const leg = await answered(under.far_ends.stays);
      await line.session.hangUp(gone);
      await endingOf(gone);
      const never = fresh("never");
      for (const absent of [gone, never]) {
        await line.session.hangUp(absent);
        await line.session.ringback(absent);
        await line.session.stopRingback(absent);
      }
      const bridge = fresh("bridge");
      await line.session.bridge(bridge, [gone, leg]);
      await line.session.endBridge(bridge);
      await line.session.endBridge(bridge);
      await line.session.endBridge(never);
      await line.session.record(bridge, fresh("recording"));
      assert.deepEqual(typesOf(leg), ["ringing", "answered"]);
      assert.deepEqual(await live(), [leg]);
    });

    test("dialing a live leg again has no effect", async () => {
      const dial = legTo(under.far_ends.stays);
      await line.session.dial(dial);
      await line.session.dial(dial);
      await received(dial.leg, "answered");
      await line.session.dial(dial);
      assert.deepEqual(await live(), [dial.leg]);
      assert.deepEqual(typesOf(dial.leg), ["ringing", "answered"]);
    });

    test("ringback can be started and stopped repeatedly", async () => {
      const leg = await answered(under.far_ends.stays);
      await line.session.stopRingback(leg);
      await line.session.ringback(leg);
      await line.session.ringback(leg);
      await line.session.stopRingback(leg);
      await line.session.stopRingback(leg);
      await line.session.ringback(leg);
      const other = await answered(under.far_ends.stays);
      // Bridged while the ringback plays.
      await line.session.bridge(fresh("bridge"), [leg, other]);
      assert.deepEqual(new Set(await live()), new Set([leg, other]));
    });

    test("a bridge is created once, accepts another leg, and keeps its legs connected when it ends", async () => {
      const [one, two] = [
        await answered(under.far_ends.stays),
        await answered(under.far_ends.stays),
      ];
      const bridge = fresh("bridge");
      await line.session.bridge(bridge, [one, two]);
      await line.session.bridge(bridge, [one, two]);
      const three = await answered(under.far_ends.stays);
      await line.session.bridge(bridge, [two, three]);
      assert.deepEqual((await line.session.snapshot()).bridges, [bridge]);
      await line.session.hangUp(one);
      await endingOf(one);
      await line.session.endBridge(bridge);
      const { legs, bridges } = await line.session.snapshot();
      assert.deepEqual(bridges, []);
      assert.deepEqual(
        new Map(legs.map(({ leg, state }) => [leg, state])),
        new Map([
          [two, "answered"],
          [three, "answered"],
        ]),
      );
      // They can be added to another bridge.
      await line.session.bridge(fresh("bridge"), [two, three]);
    });

    test("a key pressed in a bridge is reported once, with its leg", async () => {
      const listening = await answered(under.far_ends.stays);
      const pressing = await answered(under.far_ends.presses_1);
      await line.session.bridge(fresh("bridge"), [listening, pressing]);
      await received(pressing, "digit");
      const digits = line.events.filter((event) => event.type === "digit");
      assert.deepEqual(
        digits.map(({ leg, digit }) => [leg, digit]),
        [[pressing, "1"]],
      );
    });

    test("a bridge is recorded until it ends, and the recording can be read and deleted", async () => {
      const [one, two] = [
        await answered(under.far_ends.stays),
        await answered(under.far_ends.stays),
      ];
      let lasts_ms = recorded_ms;
      // On a busy machine, the recording may start late and miss the audio.
      await until(async () => {
        const wav = await recordBridge([one, two], lasts_ms);
        const isWhole = wav.length_ms > lasts_ms - recording_tolerance_ms && wav.peak > 300;
        lasts_ms *= 2;
        return isWhole;
      });
      await under.driver.deleteRecording(under.node, fresh("never"));
    });

    const recordBridge = async (legs: readonly string[], lasts_ms: number) => {
      const [bridge, recording] = [fresh("bridge"), fresh("recording")];
      await line.session.bridge(bridge, legs);
      const started_ms = performance.now();
      await line.session.record(bridge, recording);
      await line.session.record(bridge, recording);
      const until_ms = performance.now() + lasts_ms;
      await until(() => performance.now() > until_ms);
      await line.session.endBridge(bridge);
      assert.equal(await recorded(recording), true);
      const wav = readWav(await readAll(recording));
      assert.ok(wav.length_ms < performance.now() - started_ms + recording_tolerance_ms);
      await under.driver.deleteRecording(under.node, recording);
      assert.equal(await under.driver.readRecording(under.node, recording), null);
      await under.driver.deleteRecording(under.node, recording);
      return wav;
    };

    const readAll = async (recording: string): Promise<Buffer> => {
      const stream = await under.driver.readRecording(under.node, recording);
      assert.ok(stream, "the recording exists");
      return Buffer.concat((await stream.toArray()) as Buffer[]);
    };

    test("audio plays one after another, and each playback is reported once even if requested repeatedly", async () => {
      const leg = await answered(under.far_ends.stays);
      const [first, second, third] = [fresh("playback"), fresh("playback"), fresh("playback")];
      await Promise.all([
        line.session.play(leg, first, audioOf(300)),
        line.session.play(leg, second, audioOf(200)),
        line.session.play(leg, second, audioOf(200)),
      ]);
      await until(() => playedOn(leg).length === 2);
      // The same applies in a bridge with another leg.
      const other = await answered(under.far_ends.stays);
      await line.session.bridge(fresh("bridge"), [leg, other]);
      await line.session.play(leg, second, audioOf(200));
      await line.session.play(leg, third, audioOf(200));
      await until(() => playedOn(leg).length === 3);
      const expected = [first, second, third].map((playback) => [playback, true]);
      assert.deepEqual(playedOn(leg), expected);
      assert.deepEqual(playedOn(other), []);
    });

    test("stopPlaying stops the current audio, clears the queue and reports each playback", async () => {
      const leg = await answered(under.far_ends.stays);
      const [first, second, third] = [fresh("playback"), fresh("playback"), fresh("playback")];
      await line.session.stopPlaying(leg);
      await line.session.play(leg, first, audioOf(endless_ms));
      await line.session.play(leg, second, audioOf(endless_ms));
      await line.session.stopPlaying(leg);
      await until(() => playedOn(leg).length === 2);
      await line.session.play(leg, third, audioOf(100));
      await until(() => playedOn(leg).length === 3);
      const expected = [first, second, third].map((playback) => [playback, true] as const);
      assert.deepEqual(new Map(playedOn(leg)), new Map(expected));
      assert.equal(playedOn(leg).length, 3);
      assert.equal(playedOn(leg).at(-1)?.[0], third);
    });

    test("a leg that ends during playback reports its end and no playback", async () => {
      const leg = await answered(under.far_ends.stays);
      await line.session.play(leg, fresh("playback"), audioOf(endless_ms));
      await line.session.play(leg, fresh("playback"), audioOf(endless_ms));
      await line.session.hangUp(leg);
      assert.equal((await endingOf(leg)).by, "us");
      await line.session.play(leg, fresh("playback"), audioOf(100));
      await line.session.stopPlaying(leg);
      await line.session.detect(leg);
      await line.session.recordMessage(leg, fresh("message"), message_limits);
      await line.session.stopMessage(fresh("never"));
      const media = await line.session.openMedia(fresh("bridge"), leg);
      await media.closed;
      const later = await answered(under.far_ends.stays);
      await line.session.play(later, fresh("playback"), audioOf(100));
      await received(later, "played");
      assert.deepEqual(typesOf(leg), ["ringing", "answered", "ended"]);
    });

    test("AMD distinguishes a machine from a person once, and the leg stays connected", async () => {
      // On a busy machine, late audio can make AMD err.
      await until(async () => (await answererOf(under.far_ends.human)) === "human");
      await until(async () => (await answererOf(under.far_ends.machine)) === "machine");
    });

    const answererOf = async (to: DialTarget): Promise<AnsweredBy> => {
      const leg = await answered(to);
      await Promise.all([line.session.detect(leg), line.session.detect(leg)]);
      await received(leg, "detected");
      const playback = fresh("playback");
      await line.session.play(leg, playback, audioOf(100));
      await until(() => playedOn(leg).length === 1);
      assert.deepEqual(typesOf(leg), ["ringing", "answered", "detected", "played"]);
      await line.session.hangUp(leg);
      assert.equal((await endingOf(leg)).by, "us");
      const event = line.events.find((one) => one.type === "detected" && one.leg === leg);
      assert.ok(event?.type === "detected");
      return event.answered_by;
    };

    test("a leg that ends during AMD reports its end", async () => {
      const leg = await answered(under.far_ends.stays);
      await line.session.detect(leg);
      await line.session.hangUp(leg);
      assert.equal((await endingOf(leg)).by, "us");
      assert.ok(!typesOf(leg).includes("played"));
    });

    test("the end of a machine's greeting is reported once, and audio plays after it", async () => {
      const leg = await answered(under.far_ends.machine);
      await Promise.all([line.session.awaitSilence(leg), line.session.awaitSilence(leg)]);
      await received(leg, "silent");
      await line.session.play(leg, fresh("playback"), audioOf(100));
      await until(() => playedOn(leg).length === 1);
      assert.deepEqual(typesOf(leg), ["ringing", "answered", "silent", "played"]);
    });

    test("a message is recorded until it is stopped, reaches its maximum length, or the leg ends", async () => {
      const leg = await answered(under.far_ends.stays);
      let speaks_ms = recorded_ms;
      // On a busy machine, the beep may take as long as the message.
      await until(async () => {
        const stopped = fresh("message");
        await line.session.recordMessage(leg, stopped, message_limits);
        await line.session.recordMessage(leg, stopped, message_limits);
        const until_ms = performance.now() + speaks_ms;
        speaks_ms *= 2;
        await until(() => performance.now() > until_ms);
        await line.session.stopMessage(stopped);
        await recorded(stopped);
        await line.session.stopMessage(stopped);
        return (await keptOf(stopped)) > 300;
      });
      const limited = fresh("message");
      await line.session.recordMessage(leg, limited, { ...message_limits, max_seconds: 1 });
      assert.equal(await recorded(limited), true);
      await keptOf(limited);
      const last = fresh("message");
      await line.session.recordMessage(leg, last, message_limits);
      await line.session.hangUp(leg);
      // It may have ended during the beep or after it.
      if (await recorded(last)) await keptOf(last);
    });

    /** Deletes a recording and returns its loudest sample. */
    const keptOf = async (recording: string): Promise<number> => {
      const { peak } = readWav(await readAll(recording));
      await under.driver.deleteRecording(under.node, recording);
      assert.equal(await under.driver.readRecording(under.node, recording), null);
      return peak;
    };

    test("a message that is stopped while it starts is ended", async () => {
      const leg = await answered(under.far_ends.stays);
      const message = fresh("message");
      await line.session.recordMessage(leg, message, message_limits);
      await line.session.stopMessage(message);
      await recorded(message);
      const playback = fresh("playback");
      await line.session.play(leg, playback, audioOf(100));
      await until(() => playedOn(leg).length === 1);
    });

    test("media plays what is written until a flush, and its end keeps the legs and the bridge", async () => {
      const leg = await answered(under.far_ends.stays);
      const bridge = fresh("bridge");
      const media = await line.session.openMedia(bridge, leg);
      media.listen(() => {});
      assert.equal(media.queued_ms(), 0);
      media.write(Buffer.alloc(endless_ms * bytes_per_ms));
      assert.ok(media.queued_ms() > endless_ms / 2);
      media.flush();
      assert.ok(media.queued_ms() < endless_ms / 2);
      media.write(Buffer.alloc(100 * bytes_per_ms + 2));
      await until(() => media.queued_ms() === 0);
      assert.deepEqual(await live(), [leg]);
      const other = await answered(under.far_ends.stays);
      await line.session.bridge(bridge, [other]);
      media.write(Buffer.alloc(endless_ms * bytes_per_ms));
      await media.close();
      await media.closed;
      await media.close();
      media.write(Buffer.alloc(320));
      media.flush();
      assert.equal(media.queued_ms(), 0);
      const { legs, bridges } = await line.session.snapshot();
      assert.deepEqual(new Set(legs.map((one) => one.leg)), new Set([leg, other]));
      assert.deepEqual(bridges, [bridge]);
    });

    test("media ends with its leg and with the session", async () => {
      const leg = await answered(under.far_ends.stays);
      const ending = await line.session.openMedia(fresh("bridge"), leg);
      await line.session.hangUp(leg);
      await ending.closed;
      const stays = await answered(under.far_ends.stays);
      const second = await line.session.openMedia(fresh("bridge"), stays);
      await line.session.close();
      await second.closed;
      line = await connect();
      assert.deepEqual(await live(), [stays]);
      const third = await line.session.openMedia(fresh("bridge"), stays);
      await third.close();
    });

    test("the snapshot has exactly the live legs, with call and state, and the bridges", async () => {
      const up = legTo(under.far_ends.stays);
      const ringing = legTo(under.far_ends.rings);
      const canceled = legTo(under.far_ends.rings);
      for (const dial of [up, ringing, canceled]) await line.session.dial(dial);
      const just = await line.session.snapshot();
      assert.deepEqual(
        new Set(just.legs.map(({ leg }) => leg)),
        new Set([up.leg, ringing.leg, canceled.leg]),
      );
      await received(up.leg, "answered");
      await received(ringing.leg, "ringing");
      await line.session.hangUp(canceled.leg);
      await endingOf(canceled.leg);
      const bridge = fresh("bridge");
      await line.session.bridge(bridge, [up.leg]);
      const { legs, bridges, epoch } = await line.session.snapshot();
      assert.deepEqual(
        legs.toSorted((a, b) => a.leg.localeCompare(b.leg)),
        [
          { leg: up.leg, call: up.call, state: "answered" as const },
          { leg: ringing.leg, call: ringing.call, state: "ringing" as const },
        ].toSorted((a, b) => a.leg.localeCompare(b.leg)),
      );
      assert.deepEqual(bridges, [bridge]);
      const [connected] = line.events;
      assert.ok(connected?.type === "connected" && connected.epoch === epoch);
    });

    test("legs stay connected after the session closes, and a new session controls them", async () => {
      const dial = legTo(under.far_ends.stays);
      await line.session.dial(dial);
      await received(dial.leg, "answered");
      const { epoch } = await line.session.snapshot();
      await line.session.close();
      await line.session.close();
      const first = line;
      const second = await connect();
      line = second;
      assert.equal(second.epoch, epoch);
      const { legs } = await second.session.snapshot();
      assert.deepEqual(legs, [{ leg: dial.leg, call: dial.call, state: "answered" }]);
      await second.session.dial(dial);
      await second.session.hangUp(dial.leg);
      assert.equal((await endingOf(dial.leg)).by, "us");
      assert.deepEqual(typesOf(dial.leg), ["ended"]);
      assert.deepEqual(typesOf(dial.leg, first), ["ringing", "answered"]);
    });

    test("playback continues under a new session, which can request it again and stop it", async () => {
      const leg = await answered(under.far_ends.stays);
      const [first, second] = [fresh("playback"), fresh("playback")];
      await line.session.play(leg, first, audioOf(endless_ms));
      await line.session.close();
      line = await connect();
      assert.deepEqual(await live(), [leg]);
      await line.session.play(leg, first, audioOf(endless_ms));
      await line.session.stopPlaying(leg);
      await until(() => playedOn(leg).length === 1);
      await line.session.play(leg, second, audioOf(100));
      await until(() => playedOn(leg).length === 2);
      assert.deepEqual(playedOn(leg), [
        [first, true],
        [second, true],
      ]);
    });

    test("a leg that ended without a session has a CDR", async () => {
      const lasting = await answered(under.far_ends.hangs_up);
      const dialed = legTo(under.far_ends.busy);
      await line.session.dial(dialed);
      await line.session.close();
      line = await connect();
      await until(async () => (await live()).length === 0);
      const talked = await recordOf(lasting);
      assert.ok(talked.answered_at !== null && talked.answered_at <= talked.ended_at);
      assert.equal(talked.ending.outcome, "hung_up");
      const busy = await recordOf(dialed.leg);
      assert.equal(busy.answered_at, null);
      assert.equal(busy.ending.outcome, "busy");
      assert.ok(Math.abs(busy.ended_at.getTime() - Date.now()) < clock_tolerance_ms);
      const never = fresh("never");
      const found = await line.session.findCdrs([never, lasting, dialed.leg]);
      assert.ok(found !== "unreadable");
      assert.deepEqual([...found.keys()].toSorted(), [lasting, dialed.leg].toSorted());
    });

    const recordOf = async (leg: string): Promise<LegRecord> => {
      let record: LegRecord | undefined;
      await until(async () => {
        const found = await line.session.findCdrs([leg]);
        assert.ok(found !== "unreadable");
        record = found.get(leg);
        return record !== undefined;
      });
      return record!;
    };

    test("a second session replaces the first, which reports `replaced` and nothing more", async () => {
      const first = line;
      const second = await connect();
      line = second;
      await until(() => first.events.some(({ type }) => type === "replaced"));
      const count_before = first.events.length;
      const leg = await answered(under.far_ends.hangs_up);
      await endingOf(leg);
      assert.equal(first.events.length, count_before);
      assert.ok(!second.events.some(({ type }) => type === "replaced"));
      await first.session.close();
      assert.deepEqual(await live(), []);
    });

    test("fifty concurrent legs all end, and none remains", async () => {
      const dials = Array.from({ length: 50 }, () => legTo(under.far_ends.hangs_up));
      await Promise.all(dials.map((dial) => line.session.dial(dial)));
      for (const { leg } of dials) assert.equal((await endingOf(leg)).outcome, "hung_up");
      assert.deepEqual(await live(), []);
    });

    test("an incoming call is reported once to each session until it is refused", async () => {
      const incoming = () =>
        line.events.flatMap((event) => (event.type === "incoming" ? event : []));
      const refused = under.callIn("919876543210", "918000000001");
      await until(() => incoming().length > 0);
      const [{ channel, from, to } = assert.fail()] = incoming();
      assert.deepEqual([from, to], ["919876543210", "918000000001"]);
      await line.session.close();
      line = await connect();
      await line.session.snapshot();
      await until(() => incoming().length > 0);
      await line.session.snapshot();
      await line.session.refuse(channel);
      await line.session.refuse(channel);
      await refused;
      assert.deepEqual(
        incoming().map((call) => call.channel),
        [channel],
      );
    });

    test("an answered incoming call is a leg, in events, requests and snapshots", async () => {
      const incoming = () =>
        line.events.flatMap((event) => (event.type === "incoming" ? event : []));
      const known = incoming().length;
      const over = under.callIn("919876543210", "918000000002");
      await until(() => incoming().length > known);
      const { channel } = incoming().at(-1)!;
      const leg = "trk-1-1-1";
      await line.session.answer(channel, leg);
      await received(leg, "answered");
      await line.session.hangUp(leg);
      await over;
      assert.equal((await endingOf(leg)).outcome, "hung_up");
      assert.deepEqual(typesOf(leg), ["answered", "ended"]);
      assert.deepEqual(await live(), []);
      const late = "trk-1-1-2";
      await line.session.answer(channel, late);
      assert.equal((await endingOf(late)).outcome, "canceled");
    });

    test("no event was reported twice, and none of a leg after its end", () => {
      const legs = Map.groupBy(
        log.filter((event): event is LegEvent => "leg" in event),
        ({ leg }) => leg,
      );
      assert.ok(legs.size > 60);
      const order: readonly LegEvent["type"][] = ["ringing", "answered", "ended"];
      const unsure: ReadonlySet<LegOutcome> = new Set(["unplaced", "lost"]);
      for (const [leg, events] of legs) {
        const progress = events.filter(({ type }) => order.includes(type));
        const places = progress.map(({ type }) => order.indexOf(type));
        assert.deepEqual([...new Set(places)].toSorted(byNumber), places, leg);
        const playbacks = events.flatMap((event) =>
          event.type === "played" ? event.playback : [],
        );
        assert.equal(new Set(playbacks).size, playbacks.length, leg);
        if (progress.at(-1)?.type !== "ended") continue;
        const last = events.at(-1);
        assert.ok(last?.type === "ended", leg);
        assert.ok(leg_outcomes.includes(last.ending.outcome));
        assert.ok(!unsure.has(last.ending.outcome), leg);
      }
    });
  });
}

function failing(outcome: LegOutcome, cause: number, sip_status: number): Ending {
  return { outcome, cause, sip_status, by: "far_end" };
}

function byNumber(a: number, b: number): number {
  return a - b;
}

function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  return eventually(holds, patience_s);
}

/** Returns the VoiceError of a request, or null when it succeeds; another error fails the test. */
async function failureOf(request: Promise<unknown>): Promise<VoiceError | null> {
  try {
    await request;
    return null;
  } catch (error) {
    assert.ok(error instanceof VoiceError, String(error));
    return error;
  }
}
