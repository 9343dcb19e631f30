// The Asterisk driver with a real Asterisk, beyond the contract of all drivers: every way a call can end,
// and the loss of the connection or the switch.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { startAsterisk, type RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import { openAsteriskDriver } from "../../server/drivers/voice/asterisk/open-asterisk-driver.ts";
import { idAtSwitch } from "../../server/drivers/voice/asterisk/names.ts";
import {
  VoiceError,
  type Dial,
  type DialTarget,
  type Ending,
  type LegOutcome,
  type LegRecord,
  type VoiceEvent,
  type VoiceNode,
  type VoiceSession,
} from "../../server/drivers/voice/driver.ts";
import type { Audio } from "../../server/lib/audio/audio.ts";
import { openLog } from "../../server/lib/log.ts";
import { eventually } from "../support/eventually.ts";
import { rtpCounts, startCarrier, startPhones, type Sipp } from "../support/sipp.ts";
import { farEnd, pressingSequence, refusals, refusing } from "../support/sipp/outcomes.ts";

const run_dir = mkdtempSync(join(tmpdir(), "trunkline-driver-"));
const driver = openAsteriskDriver(openLog("silent"));
let asterisk: RunningAsterisk;
let far_ends: Sipp[] = [];
let proxy: Proxy;
let session: VoiceSession;
const events: VoiceEvent[] = [];
let count = 0;

before(async () => {
  asterisk = await startAsterisk({ run_dir });
  far_ends = [await startCarrier(asterisk), await startPhones(asterisk)];
  proxy = await openProxy(asterisk.ports.http);
  session = driver.open(nodeOf(proxy.port), (event) => events.push(event));
  await eventually(() => connections().length === 1);
});

after(async () => {
  await session.close();
  await proxy.close();
  await Promise.all([asterisk.stop(), ...far_ends.map((far_end) => far_end.stop())]);
  rmSync(run_dir, { recursive: true });
});

function nodeOf(port: number): VoiceNode {
  const { ari_user, ari_password, app, cdr_path, sounds_dir } = asterisk;
  const ari = {
    url: `http://127.0.0.1:${port}/ari`,
    user: ari_user,
    password: ari_password,
    app,
  };
  return { id: 1, name: "asterisk", ari, cdr_path, sounds_dir };
}

type Proxy = Awaited<ReturnType<typeof openProxy>>;

/** A TCP proxy between the driver and Asterisk that can drop or freeze its connections. */
async function openProxy(to_port: number) {
  const ends = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(to_port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        ends.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const drop = () => {
    for (const end of ends) end.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      drop();
    },
    restore: () => (isCut = false),
    /** Keeps the current connections open without forwarding data. */
    freeze() {
      for (const end of ends) {
        end.unpipe();
        end.pause();
      }
    },
    async close() {
      drop();
      server.close();
      await once(server, "close");
    },
  };
}

function connections(): readonly (VoiceEvent & { type: "connected" })[] {
  return events.filter((event) => event.type === "connected");
}

function overTrunk(number: string, endpoint = "trunk"): DialTarget {
  return { kind: "trunk", endpoint, number };
}

async function dial(to: DialTarget, ring_seconds = 20): Promise<string> {
  const leg = `trk-1-${(count += 1)}-1`;
  const order: Dial = { leg, call: `trk-1-${count}`, to, caller_id: "+918000000001", ring_seconds };
  await session.dial(order);
  return leg;
}

function of<Type extends VoiceEvent["type"]>(leg: string, type: Type) {
  return events.filter(
    (event): event is Extract<VoiceEvent, { leg: string; type: Type }> =>
      event.type === type && "leg" in event && event.leg === leg,
  );
}

async function answered(to: DialTarget): Promise<string> {
  const leg = await dial(to);
  await eventually(() => of(leg, "answered").length === 1);
  return leg;
}

async function endingOf(leg: string): Promise<Ending> {
  await eventually(() => of(leg, "ended").length === 1);
  return of(leg, "ended")[0]!.ending;
}

async function recordOf(leg: string): Promise<LegRecord> {
  let record: LegRecord | undefined;
  await eventually(async () => {
    const found = await session.findCdrs([leg]);
    assert.ok(found !== "unreadable");
    record = found.get(leg);
    return record !== undefined;
  });
  return record!;
}

/** By the carrier's SIP response. */
const outcomes: Readonly<Record<number, LegOutcome>> = {
  486: "busy",
  600: "busy",
  603: "declined",
  403: "failed",
  607: "declined",
  480: "no_answer",
  408: "no_answer",
  404: "unallocated",
  410: "unallocated",
  484: "invalid",
  503: "congestion",
  500: "failed",
  502: "failed",
  488: "failed",
};

async function assertRefused(to: DialTarget, status: number): Promise<void> {
  const leg = await dial(to);
  const { outcome, sip_status, by, cause } = await endingOf(leg);
  assert.deepEqual([outcome, sip_status, by], [outcomes[status], status, "far_end"]);
  assert.ok(cause !== null && cause > 0);
  assert.deepEqual(of(leg, "answered"), []);
  // A CDR does not show whether the phone rang before a 403.
  const recorded = status === 403 ? "declined" : outcome;
  assert.deepEqual((await recordOf(leg)).ending, { outcome: recorded, sip_status, by, cause });
}

/** None of these tests depends on the other legs at the switch. */
suite("legs on Asterisk", { concurrency: true }, () => {
  for (const { status } of refusals) {
    test(`a carrier that responds ${status}: ${outcomes[status]}, in the event and in the CDR`, () =>
      assertRefused(overTrunk(refusing(status)), status));
  }

  test("a phone's refusal has the same outcome as a carrier's", async () => {
    await assertRefused({ kind: "extension", endpoint: "agent-busy", number: "1" }, 486);
    await assertRefused({ kind: "extension", endpoint: "agent-declines", number: "1" }, 603);
  });

  test("a ring time-out results in no_answer after ringing or early media, and in unreachable after silence", async () => {
    const cases: readonly (readonly [DialTarget, number, LegOutcome, number | null])[] = [
      [overTrunk(farEnd("rings_on")), 10, "no_answer", null],
      [overTrunk(farEnd("early_media")), 1, "no_answer", null],
      [overTrunk(farEnd("silent")), 2, "unreachable", null],
      [overTrunk(farEnd("rings_on"), "deadtrunk"), 2, "unreachable", null],
      // SIP times out after 32 s.
      [overTrunk(farEnd("rings_on"), "deadtrunk"), 60, "unreachable", 408],
    ];
    const legs = await Promise.all(cases.map(([to, seconds]) => dial(to, seconds)));
    for (const [at, [, , outcome, sip_status]] of cases.entries()) {
      const ending = await endingOf(legs[at]!);
      assert.deepEqual([ending.outcome, ending.sip_status], [outcome, sip_status]);
      assert.equal(of(legs[at]!, "ringing").length, outcome === "no_answer" ? 1 : 0);
      assert.deepEqual((await recordOf(legs[at]!)).ending, ending);
    }
  });

  test("the CDR of a leg that Trunkline cancels is canceled", async () => {
    const leg = await dial(overTrunk(farEnd("rings_on")));
    await eventually(() => of(leg, "ringing").length === 1);
    await session.hangUp(leg);
    assert.equal((await endingOf(leg)).outcome, "canceled");
    assert.equal((await recordOf(leg)).ending.outcome, "canceled");
  });

  test("a far end's hangup is reported, with and without a reason, alone and in a bridge", async () => {
    const legs = await Promise.all([
      answered(overTrunk(farEnd("hangs_up", 1))),
      answered(overTrunk(farEnd("hangs_up_with_reason", 1))),
      answered(overTrunk(farEnd("hangs_up", 1))),
      answered(overTrunk(farEnd("hangs_up_with_reason", 1))),
    ]);
    await session.bridge("trk-1-hangups", legs.slice(2));
    for (const leg of legs) {
      const { outcome, by, sip_status } = await endingOf(leg);
      assert.deepEqual([outcome, by, sip_status], ["hung_up", "far_end", null]);
      assert.notEqual((await recordOf(leg)).answered_at, null);
    }
    await session.endBridge("trk-1-hangups");
  });

  test("a bridge carries audio both ways and ends the ringback", async () => {
    const agent = await answered({ kind: "extension", endpoint: "agent1", number: "1" });
    await session.ringback(agent);
    await eventually(
      async () => (await rtpCounts(asterisk, idAtSwitch(asterisk.app, agent))).sent > 20,
    );
    const customer = await answered(overTrunk(farEnd("speaks")));
    await session.bridge("trk-1-talk", [agent, customer]);
    const earlier = await rtpCounts(asterisk, idAtSwitch(asterisk.app, agent));
    await eventually(async () => {
      const [one, two] = await Promise.all(
        [agent, customer].map((leg) => rtpCounts(asterisk, idAtSwitch(asterisk.app, leg))),
      );
      return (
        one!.sent > earlier.sent + 50 &&
        one!.received > earlier.received + 50 &&
        two!.sent > 50 &&
        two!.received > 50
      );
    });
    for (const leg of [agent, customer]) await session.hangUp(leg);
    for (const leg of [agent, customer]) assert.equal((await endingOf(leg)).by, "us");
    await session.endBridge("trk-1-talk");
  });

  test("keys of a leg without a bridge are reported, sent as audio or as SIP INFO", async () => {
    const by_info = await answered(overTrunk(farEnd("presses_by_info", 1, "5")));
    const by_audio = await answered(overTrunk(farEnd("presses_1_9_hash")));
    const digits = (leg: string) => of(leg, "digit").map(({ digit }) => digit);
    await eventually(() => digits(by_info).length === 1 && digits(by_audio).length === 3);
    assert.deepEqual([digits(by_info), digits(by_audio)], [["5"], ["1", "9", "#"]]);
    for (const leg of [by_info, by_audio]) await session.hangUp(leg);
  });

  test("audio that the switch cannot read is reported as not played; a failed `read` fails the request", async () => {
    const leg = await answered(overTrunk(farEnd("speaks")));
    const played = () => of(leg, "played").map(({ playback, ok }) => [playback, ok]);
    const broken = {
      owner: "1",
      name: "b".repeat(64),
      duration_ms: 100,
      read: async () => Buffer.alloc(1_600),
    };
    mkdirSync(join(asterisk.sounds_dir, `1-${broken.name}.sln`));
    await session.play(leg, "trk-1-broken", broken);
    const whole = { ...broken, name: "c".repeat(64) };
    await session.play(leg, "trk-1-whole", whole);
    await eventually(() => played().length === 2);
    assert.deepEqual(played(), [
      ["trk-1-broken", false],
      ["trk-1-whole", true],
    ]);
    const gone = { ...broken, name: "d".repeat(64), read: () => Promise.reject(new Error("gone")) };
    await assert.rejects(session.play(leg, "trk-1-gone", gone), { message: "gone" });
    await session.hangUp(leg);
    await endingOf(leg);
  });
});

test("a later session reports the end of an earlier one's playback and knows the bridges of its legs", async () => {
  const [leg, other] = [
    await answered(overTrunk(farEnd("speaks"))),
    await answered(overTrunk(farEnd("speaks"))),
  ];
  const audio = (name: string, duration_ms: number): Audio => {
    const read = async () => Buffer.alloc(duration_ms * 16);
    return { owner: "1", name: name.repeat(64), duration_ms, read };
  };
  await session.play(leg, "trk-1-earlier", audio("e", 400_000));
  const later_events: VoiceEvent[] = [];
  await session.close();
  const later = driver.open(nodeOf(asterisk.ports.http), (event) => later_events.push(event));
  await eventually(() => later_events.length === 1);
  await later.snapshot();
  assert.equal((await askAri("DELETE", "/playbacks/trk-1-earlier_trunkline")).status, 204);
  const ends = (playback: string) =>
    later_events.some(
      (event) => event.type === "played" && event.playback === playback && event.ok,
    );
  await eventually(() => ends("trk-1-earlier"));
  await later.bridge("trk-1-later", [leg, other]);
  await later.close();
  session = driver.open(nodeOf(proxy.port), (event) => {
    events.push(event);
    later_events.push(event);
  });
  await eventually(() => events.at(-1)?.type === "connected");
  await session.snapshot();
  await session.play(leg, "trk-1-bridge", audio("f", 400_000));
  const { body } = await askAri("GET", "/playbacks/trk-1-bridge_trunkline");
  assert.equal((body as { target_uri: string }).target_uri, "bridge:trk-1-later_trunkline");
  await session.stopPlaying(leg);
  await eventually(() => ends("trk-1-bridge"));
  for (const one of [leg, other]) await session.hangUp(one);
  for (const one of [leg, other]) await endingOf(one);
  await session.endBridge("trk-1-later");
});

/** Sends an ARI request without the driver. */
async function askAri(method: string, path: string) {
  const { ari_url, ari_user, ari_password } = asterisk;
  const authorization = `Basic ${btoa(`${ari_user}:${ari_password}`)}`;
  const response = await fetch(ari_url + path, {
    method,
    headers: { authorization, connection: "close" },
  });
  const text = await response.text();
  return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as unknown };
}

test("media carries audio both ways, is silent after a flush, and can be replaced by another leg", async () => {
  // This far end echoes its audio.
  const leg = await answered(overTrunk("919876543210"));
  const media = await session.openMedia("trk-1-media", leg);
  let loud_at_ms = 0;
  let frames = 0;
  media.listen((samples) => {
    assert.equal(samples.length, 320);
    frames += 1;
    if (peakOf(samples) > 4_000) loud_at_ms = performance.now();
  });
  media.write(toneOf(400_000));
  await eventually(() => loud_at_ms > 0 && frames > 50);
  media.flush();
  await eventually(() => performance.now() > loud_at_ms + 1_000);
  loud_at_ms = 0;
  media.write(toneOf(500));
  await eventually(() => loud_at_ms > 0);
  const { legs, bridges } = await session.snapshot();
  assert.deepEqual([legs.map((one) => one.leg), bridges], [[leg], ["trk-1-media"]]);
  const agent = await answered(overTrunk(farEnd("speaks")));
  await session.bridge("trk-1-media", [agent]);
  loud_at_ms = 0;
  // The bridge now has three members.
  await eventually(() => loud_at_ms > 0);
  await media.close();
  const sentTo = async (one: string) =>
    (await rtpCounts(asterisk, idAtSwitch(asterisk.app, one))).sent;
  const earlier = [await sentTo(leg), await sentTo(agent)];
  await eventually(async () => (await sentTo(leg)) > earlier[0]! + 25);
  await eventually(async () => (await sentTo(agent)) > earlier[1]! + 25);
  for (const one of [leg, agent]) await session.hangUp(one);
  for (const one of [leg, agent]) await endingOf(one);
  await session.endBridge("trk-1-media");
  await eventually(async () => ((await askAri("GET", "/channels")).body as unknown[]).length === 0);
});

test("the snapshot omits external media channels of earlier sessions and hangs them up", async () => {
  const query = new URLSearchParams({
    channelId: "media_orphan_trunkline",
    app: "trunkline",
    external_host: "INCOMING",
    transport: "websocket",
    encapsulation: "none",
    connection_type: "server",
    format: "slin",
  });
  assert.equal((await askAri("POST", `/channels/externalMedia?${query.toString()}`)).status, 200);
  assert.deepEqual((await session.snapshot()).legs, []);
  await eventually(async () => ((await askAri("GET", "/channels")).body as unknown[]).length === 0);
});

function toneOf(duration_ms: number): Buffer {
  // 400 Hz.
  const samples = Int16Array.from({ length: duration_ms * 8 }, (_, index) =>
    Math.round(12_000 * Math.sin((2 * Math.PI * index) / 20)),
  );
  return Buffer.from(samples.buffer);
}

function peakOf(samples: Buffer): number {
  const levels = Array.from({ length: samples.length / 2 }, (_, index) =>
    Math.abs(samples.readInt16LE(index * 2)),
  );
  return Math.max(...levels);
}

test("a sequence of keys is reported in order", async () => {
  const leg = await answered(overTrunk(pressingSequence("705", 1)));
  await eventually(() => of(leg, "digit").length === 3);
  assert.deepEqual(
    of(leg, "digit").map(({ digit }) => digit),
    ["7", "0", "5"],
  );
  await session.hangUp(leg);
  await endingOf(leg);
});

test("a leg whose name is a prefix of another's is dialed and hung up independently", async () => {
  const base = { call: "trk-2-1", caller_id: "8000000001", ring_seconds: 20 };
  const to = overTrunk(farEnd("speaks"));
  await session.dial({ ...base, leg: "trk-2-1-12", to });
  await session.dial({ ...base, leg: "trk-2-1-1", to });
  await eventually(() => of("trk-2-1-1", "answered").length === 1);
  await session.hangUp("trk-2-1-1");
  await endingOf("trk-2-1-1");
  await session.hangUp("trk-2-1-1");
  const { legs } = await session.snapshot();
  assert.deepEqual(
    legs.map(({ leg, state }) => [leg, state]),
    [["trk-2-1-12", "answered"]],
  );
  await session.hangUp("trk-2-1-12");
  await endingOf("trk-2-1-12");
});

test("two installations on one switch do not see each other's legs and events", async () => {
  const { ari, ...rest } = nodeOf(asterisk.ports.http);
  const other_events: VoiceEvent[] = [];
  const other = driver.open({ ...rest, ari: { ...ari!, app: "other_one" } }, (event) =>
    other_events.push(event),
  );
  await eventually(() => other_events.length === 1);
  const own = await answered(overTrunk(farEnd("speaks")));
  const call = { leg: own, call: own.replace(/-1$/, ""), caller_id: "8000000001" };
  await other.dial({ ...call, to: overTrunk(farEnd("speaks")), ring_seconds: 20 });
  await eventually(() => other_events.some(({ type }) => type === "answered"));
  await other.bridge("trk-1-shared", [own]);
  assert.deepEqual((await session.snapshot()).bridges, []);
  await session.hangUp(own);
  await endingOf(own);
  assert.deepEqual((await session.snapshot()).legs, []);
  const { legs, bridges } = await other.snapshot();
  assert.deepEqual(legs, [{ leg: own, call: call.call, state: "answered" }]);
  assert.deepEqual(bridges, ["trk-1-shared"]);
  assert.ok(!other_events.some(({ type }) => type === "ended"));
  await other.endBridge("trk-1-shared");
  await other.hangUp(own);
  await eventually(() => other_events.at(-1)?.type === "ended");
  assert.equal(of(own, "answered").length, 1);
  await other.close();
});

test("a leg that is answered without a connection waits and can be controlled after the reconnection", async () => {
  const leg = await dial(overTrunk(farEnd("answers_late", 1)));
  const ended = await dial(overTrunk(farEnd("hangs_up", 1)));
  const earlier = connections().length;
  proxy.cut();
  await eventually(() => events.at(-1)?.type === "disconnected");
  await eventually(async () => (await recordOf(ended)).ending.outcome === "hung_up");
  await eventually(async () => (await asterisk.cli("core show channels concise")).includes("!Up!"));
  proxy.restore();
  await eventually(() => connections().length > earlier);
  assert.equal(connections().at(-1)?.epoch, connections()[0]?.epoch);
  const { legs } = await session.snapshot();
  assert.deepEqual(
    legs.map((each) => [each.leg, each.state]),
    [[leg, "answered"]],
  );
  await session.ringback(leg);
  await session.bridge("trk-1-late", [leg]);
  await session.hangUp(leg);
  assert.equal((await endingOf(leg)).outcome, "hung_up");
  await session.endBridge("trk-1-late");
});

test("a playback whose end was missed plays again on request and is reported", async () => {
  const leg = await answered(overTrunk(farEnd("speaks")));
  const audio = {
    owner: "1",
    name: "c".repeat(64),
    duration_ms: 300,
    read: async () => Buffer.alloc(300 * 16),
  };
  const ends = () => events.filter((event) => event.type === "played" && event.leg === leg);
  const earlier = connections().length;
  await session.play(leg, "trk-1-cut", { ...audio, name: "d".repeat(64) });
  await eventually(() => ends().length === 1);
  await session.play(leg, "trk-1-missed", audio);
  proxy.cut();
  await eventually(
    async () => (await askAri("GET", "/playbacks/trk-1-missed_trunkline")).status === 404,
  );
  proxy.restore();
  await eventually(() => connections().length > earlier);
  await session.snapshot();
  for (const playback of ["trk-1-cut", "trk-1-missed"]) await session.play(leg, playback, audio);
  await eventually(() => ends().length === 2);
  assert.deepEqual(
    ends().map((event) => event.type === "played" && event.playback),
    ["trk-1-cut", "trk-1-missed"],
  );
  await session.hangUp(leg);
  await endingOf(leg);
});

test("a frozen connection is detected and replaced", async () => {
  const earlier = connections().length;
  proxy.freeze();
  await eventually(() => connections().length > earlier);
  const leg = await answered(overTrunk(farEnd("hangs_up", 1)));
  assert.equal((await endingOf(leg)).outcome, "hung_up");
});

test("a killed and restarted switch has another epoch and no legs, and accepts calls", async () => {
  const [first] = connections();
  await answered(overTrunk(farEnd("speaks")));
  const earlier = connections().length;
  await asterisk.kill();
  await eventually(() => events.at(-1)?.type === "disconnected");
  await assert.rejects(dial(overTrunk(farEnd("speaks"))), VoiceError);
  asterisk = await startAsterisk({ run_dir });
  await eventually(() => connections().length > earlier);
  assert.notEqual(connections().at(-1)?.epoch, first?.epoch);
  assert.deepEqual((await session.snapshot()).legs, []);
  const leg = await answered(overTrunk(farEnd("hangs_up", 1)));
  assert.equal((await endingOf(leg)).outcome, "hung_up");
});
