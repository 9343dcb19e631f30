// The sandbox's switch: legs driven by timers, bridges, recordings and CDRs, all in memory.
import { randomUUID } from "node:crypto";
import { checkNumber } from "../check-number.ts";
import {
  VoiceError,
  type Dial,
  type Ending,
  type IncomingCall,
  type LegRecord,
  type LiveLeg,
  type SwitchSnapshot,
  type VoiceEvent,
} from "../driver.ts";
import { behaviorOf, type LegBehavior, type Press, type SandboxRole } from "./leg-behavior.ts";
import type { SandboxRecordings } from "./sandbox-recordings.ts";

/** The maximum of live legs, and of bridges. */
const live_max = 20_000;
/** How many CDRs are kept; the oldest is removed first. */
const records_max = 20_000;
/** How long after an unanswered call a person calls back. */
const calls_back_ms = 2_000;
/** Effects of a request occur after its response, as with a real switch. */
export const soon_ms = 10;

/** Runs once after the delay; the returned function cancels it. */
export type After = (delay_ms: number, run: () => void) => () => void;

type Answering = Extract<LegBehavior, { kind: "answers" }>;

export type SandboxLeg = {
  readonly name: string;
  readonly call: string;
  readonly number: string;
  state: LiveLeg["state"];
  answered_at: Date | null;
  isHangingUp: boolean;
  bridge: string | null;
  /** The keys that it has not pressed yet. */
  presses: readonly Press[];
  /** Cancel functions of the leg's timers: general, while it talks in a bridge, and during playback. */
  readonly timers: (() => void)[];
  readonly talk_timers: (() => void)[];
  readonly playback_timers: (() => void)[];
  /** The playback queue. */
  playing: { readonly playback: string; readonly duration_ms: number }[];
  /** The playbacks that were requested. */
  readonly requested: Set<string>;
  isDetecting: boolean;
  awaitsSilence: boolean;
  /** Called when the leg ends. */
  readonly on_end: Set<() => void>;
  behavior: LegBehavior;
};

type Bridge = { readonly legs: Set<SandboxLeg>; readonly recordings: Map<string, number> };

export type SandboxSwitch = {
  readonly legs: Map<string, SandboxLeg>;
  readonly bridges: Map<string, Bridge>;
  readonly records: Map<string, LegRecord>;
  readonly recordings: SandboxRecordings;
  readonly after: After;
  readonly now: () => Date;
  /** The factor by which `after` divides times. */
  readonly pace: number;
  /** By recording: ends a message that is being recorded. */
  readonly messages: Map<string, () => void>;
  /** Incoming calls that wait, by channel. */
  readonly incoming: Map<string, IncomingCall>;
  /** What follows its refusal, or its end once it was answered. */
  readonly over: Map<string, () => void>;
  /** Ends the media streams of the current session. */
  readonly media: Set<() => void>;
  /** Reports to the current session; null without one: events are dropped. */
  emit: ((event: VoiceEvent) => void) | null;
  /** Ends the current session and reports `replaced` to it. */
  replace: (() => void) | null;
};

export function openSwitch(
  parts: Pick<SandboxSwitch, "recordings" | "after" | "now" | "pace">,
): SandboxSwitch {
  return {
    ...parts,
    legs: new Map(),
    bridges: new Map(),
    records: new Map(),
    messages: new Map(),
    media: new Set(),
    incoming: new Map(),
    over: new Map(),
    emit: null,
    replace: null,
  };
}

/** Simulates a person who calls. Resolves once the call is refused or, after an answer, has ended. */
export function receiveCall(at: SandboxSwitch, call: Omit<IncomingCall, "channel">): Promise<void> {
  const channel = randomUUID();
  const { promise, resolve } = Promise.withResolvers<void>();
  at.incoming.set(channel, { ...call, channel });
  at.over.set(channel, () => {
    at.incoming.delete(channel);
    at.over.delete(channel);
    resolve();
  });
  at.emit?.({ type: "incoming", ...call, channel, at: at.now() });
  return promise;
}

export function dialLeg(at: SandboxSwitch, dial: Dial): void {
  if (at.legs.has(dial.leg)) return;
  checkNumber(dial.caller_id);
  if (at.legs.size >= live_max) {
    const ending: Ending = { outcome: "congestion", cause: 34, sip_status: 503, by: "far_end" };
    throw new VoiceError("refused", "the sandbox has reached its maximum of live legs", { ending });
  }
  const behavior = behaviorOf(dial.to.number, roleOf(at, dial));
  if (behavior.kind === "refused")
    throw new VoiceError("refused", "the phone is not registered", { ending: behavior.ending });
  const leg = addLeg(at, { name: dial.leg, call: dial.call, number: dial.to.number }, behavior);
  const schedule = (delay_ms: number, run: () => void) => leg.timers.push(at.after(delay_ms, run));
  // What follows the ring waits for it: a busy process runs timers late, and not always in order.
  const goOn = (since_ms: number) => {
    if (behavior.kind === "answers")
      schedule(behavior.answers_ms - since_ms, () => answer(at, leg, behavior));
    if (behavior.kind === "fails")
      schedule(behavior.fails_ms - since_ms, () => end(at, leg, behavior.ending));
  };
  const { rings_ms } = behavior;
  if (rings_ms === null) goOn(0);
  else
    schedule(rings_ms, () => {
      ring(at, leg);
      goOn(rings_ms);
    });
  schedule(dial.ring_seconds * 1_000, () => end(at, leg, not_answered));
  if (behavior.kind === "fails" && behavior.calls_back) leg.on_end.add(() => callBack(at, dial));
}

function callBack(at: SandboxSwitch, { to, caller_id }: Dial): void {
  if (to.kind !== "trunk") return;
  const from = `+${to.number.replaceAll(/\D/g, "")}`;
  const call = { endpoint: to.endpoint, from, to: caller_id };
  at.after(calls_back_ms, () => void receiveCall(at, call));
}

/** Adds a leg that is being dialed. */
export function addLeg(
  at: SandboxSwitch,
  of: Pick<SandboxLeg, "name" | "call" | "number">,
  behavior: LegBehavior,
): SandboxLeg {
  const leg: SandboxLeg = {
    ...of,
    state: "dialing",
    answered_at: null,
    isHangingUp: false,
    bridge: null,
    presses: behavior.kind === "answers" ? behavior.presses : [],
    timers: [],
    talk_timers: [],
    playback_timers: [],
    playing: [],
    requested: new Set(),
    isDetecting: false,
    awaitsSilence: false,
    on_end: new Set(),
    behavior,
  };
  at.legs.set(leg.name, leg);
  return leg;
}

/** What a switch reports when the ring time ends. */
const not_answered: Ending = { outcome: "no_answer", cause: 19, sip_status: 480, by: "far_end" };

function roleOf(at: SandboxSwitch, { call, to }: Dial): SandboxRole {
  const isUp = (leg: SandboxLeg) => leg.call === call && leg.state === "answered";
  return to.kind === "trunk" && [...at.legs.values()].some(isUp) ? "customer" : "agent";
}

function ring(at: SandboxSwitch, leg: SandboxLeg): void {
  leg.state = "ringing";
  at.emit?.({ type: "ringing", leg: leg.name, at: at.now() });
}

/** Answers a leg, at its far end. */
export function answer(at: SandboxSwitch, leg: SandboxLeg, { hang_up }: Answering): void {
  cancelAll(leg.timers);
  leg.state = "answered";
  leg.answered_at = at.now();
  if (hang_up?.since === "answer")
    leg.timers.push(at.after(hang_up.after_ms, () => end(at, leg, farEndHungUp())));
  at.emit?.({ type: "answered", leg: leg.name, at: leg.answered_at });
}

export function farEndHungUp(): Ending {
  return { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" };
}

export function end(at: SandboxSwitch, leg: SandboxLeg, ending: Ending): void {
  cancelAll(leg.timers);
  cancelAll(leg.playback_timers);
  removeFromBridge(at, leg);
  at.legs.delete(leg.name);
  for (const run of leg.on_end) run();
  const ended_at = at.now();
  const { answered_at } = leg;
  at.records.set(leg.name, { answered_at, ended_at, ending });
  if (at.records.size > records_max) at.records.delete(at.records.keys().next().value ?? "");
  at.emit?.({ type: "ended", leg: leg.name, at: ended_at, ending, answered_at });
}

export function hangUpLeg(at: SandboxSwitch, name: string, cause: number): void {
  const leg = at.legs.get(name);
  if (leg === undefined || leg.isHangingUp) return;
  leg.isHangingUp = true;
  for (const timers of [leg.timers, leg.talk_timers, leg.playback_timers]) cancelAll(timers);
  const ending: Ending =
    leg.state === "answered"
      ? { outcome: "hung_up", cause, sip_status: null, by: "us" }
      : { outcome: "canceled", cause, sip_status: 487, by: "us" };
  leg.timers.push(at.after(soon_ms, () => end(at, leg, ending)));
}

/** Adds legs to a bridge, which restarts the talk timers of all its legs. */
export function bridgeLegs(at: SandboxSwitch, name: string, names: readonly string[]): void {
  const legs = names.flatMap((leg) => at.legs.get(leg) ?? []);
  if (legs.some(({ state }) => state !== "answered"))
    throw new VoiceError("refused", "a leg must be answered before it is bridged");
  if (!at.bridges.has(name) && at.bridges.size >= live_max)
    throw new VoiceError("refused", "the sandbox has reached its maximum of bridges");
  const bridge = at.bridges.get(name) ?? { legs: new Set(), recordings: new Map() };
  at.bridges.set(name, bridge);
  const added = legs.filter((leg) => leg.bridge !== name);
  for (const leg of added) {
    removeFromBridge(at, leg);
    leg.bridge = name;
    bridge.legs.add(leg);
  }
  if (added.length === 0 || bridge.legs.size < 2) return;
  for (const leg of bridge.legs) startTalk(at, leg);
}

function startTalk(at: SandboxSwitch, leg: SandboxLeg): void {
  cancelAll(leg.talk_timers);
  if (leg.behavior.kind !== "answers" || leg.isHangingUp) return;
  const { hang_up } = leg.behavior;
  if (hang_up?.since === "bridge")
    leg.talk_timers.push(at.after(hang_up.after_ms, () => end(at, leg, farEndHungUp())));
  for (const press of leg.presses) {
    const run = () => {
      leg.presses = leg.presses.filter((one) => one !== press);
      at.emit?.({ type: "digit", leg: leg.name, digit: press.digit, at: at.now() });
    };
    leg.talk_timers.push(at.after(press.after_ms, run));
  }
}

/** A leg that remains alone presses no keys and does not hang up. */
function removeFromBridge(at: SandboxSwitch, leg: SandboxLeg): void {
  cancelAll(leg.talk_timers);
  const bridge = leg.bridge === null ? undefined : at.bridges.get(leg.bridge);
  leg.bridge = null;
  bridge?.legs.delete(leg);
  if (bridge?.legs.size === 1) for (const alone of bridge.legs) cancelAll(alone.talk_timers);
}

export function endBridge(at: SandboxSwitch, name: string): void {
  const bridge = at.bridges.get(name);
  if (bridge === undefined) return;
  for (const leg of bridge.legs) removeFromBridge(at, leg);
  at.bridges.delete(name);
  for (const [recording, started_ms] of bridge.recordings) {
    at.recordings.end(recording, at.now().getTime() - started_ms);
    at.after(soon_ms, () => at.emit?.({ type: "recorded", recording, ok: true }));
  }
}

export function recordBridge(at: SandboxSwitch, name: string, recording: string): void {
  const bridge = at.bridges.get(name);
  if (bridge === undefined || bridge.recordings.has(recording)) return;
  bridge.recordings.set(recording, at.now().getTime());
  at.recordings.start(recording);
}

export function liveLegs(at: SandboxSwitch): Pick<SwitchSnapshot, "legs" | "bridges"> {
  return {
    legs: Array.from(at.legs.values(), ({ name, call, state }) => ({ leg: name, call, state })),
    bridges: [...at.bridges.keys()],
  };
}

export function cancelAll(timers: (() => void)[]): void {
  for (const cancel of timers.splice(0)) cancel();
}
