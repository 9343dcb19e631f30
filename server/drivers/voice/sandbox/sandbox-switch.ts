// A switch in this process: legs that live by the clock, bridges, and what is written down of both.
import {
  VoiceError,
  type Dial,
  type Ending,
  type LegRecord,
  type LiveLeg,
  type Survey,
  type VoiceEvent,
} from "../driver.ts";
import { legLife, type LegLife, type Press, type SandboxRole } from "./leg-life.ts";
import type { SandboxRecordings } from "./sandbox-recordings.ts";

/** Legs, and bridges, at once; beyond, the switch has no room. */
const live_max = 20_000;
/** Ended legs that are remembered; the oldest is forgotten first. */
const records_max = 20_000;
/** What we ask for happens after the answer to our asking, as everywhere. */
export const soon_ms = 10;

/** Runs once, after the delay, unless the answer is called first. */
export type After = (delay_ms: number, run: () => void) => () => void;

type Answering = Extract<LegLife, { kind: "answers" }>;

export type SandboxLeg = {
  readonly name: string;
  readonly call: string;
  readonly number: string;
  state: LiveLeg["state"];
  answered_at: Date | null;
  isHangingUp: boolean;
  bridge: string | null;
  /** The keys that it has not pressed in a bridge. */
  presses: readonly Press[];
  /** What is to come of itself, and what is to come as long as somebody is with it in its bridge. */
  readonly plans: (() => void)[];
  readonly talk: (() => void)[];
  /** What it is made to hear, in order, and what is to come while it does. */
  playing: { readonly playback: string; readonly duration_ms: number }[];
  readonly hearing: (() => void)[];
  readonly heard: Set<string>;
  isDetecting: boolean;
  /** What else ends with it. */
  readonly at_end: Set<() => void>;
  life: LegLife;
};

type Bridge = { readonly legs: Set<SandboxLeg>; readonly recordings: Map<string, number> };

export type SandboxSwitch = {
  readonly legs: Map<string, SandboxLeg>;
  readonly bridges: Map<string, Bridge>;
  readonly records: Map<string, LegRecord>;
  readonly recordings: SandboxRecordings;
  readonly after: After;
  readonly now: () => Date;
  /** What `after` divides times by. */
  readonly pace: number;
  /** The messages that are being recorded, and how each is ended. */
  readonly messages: Map<string, () => void>;
  /** How the media of whoever has the connection are ended. */
  readonly media: Set<() => void>;
  /** Whoever listens; what happens meanwhile is not told later. */
  hear: ((event: VoiceEvent) => void) | null;
  /** Tells whoever has the connection that it is another's now. */
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
    hear: null,
    replace: null,
  };
}

export function dialLeg(at: SandboxSwitch, dial: Dial): void {
  if (at.legs.has(dial.leg)) return;
  if (at.legs.size >= live_max) {
    const ending: Ending = { outcome: "congestion", cause: 34, sip_status: 503, by: "far_end" };
    throw new VoiceError("refused", "the sandbox has no room for another leg", { ending });
  }
  const life = legLife(dial.to.number, roleOf(at, dial));
  if (life.kind === "refused")
    throw new VoiceError("refused", "nobody is registered there", { ending: life.ending });
  const leg: SandboxLeg = {
    name: dial.leg,
    call: dial.call,
    number: dial.to.number,
    state: "dialing",
    answered_at: null,
    isHangingUp: false,
    bridge: null,
    presses: life.kind === "answers" ? life.presses : [],
    plans: [],
    talk: [],
    playing: [],
    hearing: [],
    heard: new Set(),
    isDetecting: false,
    at_end: new Set(),
    life,
  };
  at.legs.set(leg.name, leg);
  const plan = (delay_ms: number, run: () => void) => leg.plans.push(at.after(delay_ms, run));
  if (life.rings_ms !== null) plan(life.rings_ms, () => ring(at, leg));
  if (life.kind === "answers") plan(life.answers_ms, () => answer(at, leg, life));
  if (life.kind === "fails") plan(life.fails_ms, () => end(at, leg, life.ending));
  plan(dial.ring_seconds * 1_000, () => end(at, leg, not_answered));
}

/** As a switch says of a leg that it gave up itself. */
const not_answered: Ending = { outcome: "no_answer", cause: 19, sip_status: 480, by: "far_end" };

function roleOf(at: SandboxSwitch, { call, to }: Dial): SandboxRole {
  const isUp = (leg: SandboxLeg) => leg.call === call && leg.state === "answered";
  return to.kind === "trunk" && [...at.legs.values()].some(isUp) ? "customer" : "agent";
}

function ring(at: SandboxSwitch, leg: SandboxLeg): void {
  leg.state = "ringing";
  at.hear?.({ type: "ringing", leg: leg.name, at: at.now() });
}

function answer(at: SandboxSwitch, leg: SandboxLeg, { leaves }: Answering): void {
  cancelAll(leg.plans);
  leg.state = "answered";
  leg.answered_at = at.now();
  if (leaves?.since === "answer")
    leg.plans.push(at.after(leaves.after_ms, () => end(at, leg, farEndHungUp())));
  at.hear?.({ type: "answered", leg: leg.name, at: leg.answered_at });
}

export function farEndHungUp(): Ending {
  return { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" };
}

export function end(at: SandboxSwitch, leg: SandboxLeg, ending: Ending): void {
  cancelAll(leg.plans);
  cancelAll(leg.hearing);
  leaveBridge(at, leg);
  at.legs.delete(leg.name);
  for (const run of leg.at_end) run();
  const ended_at = at.now();
  const { answered_at } = leg;
  at.records.set(leg.name, { answered_at, ended_at, ending });
  if (at.records.size > records_max) at.records.delete(at.records.keys().next().value ?? "");
  at.hear?.({ type: "ended", leg: leg.name, at: ended_at, ending, answered_at });
}

export function hangUpLeg(at: SandboxSwitch, name: string, cause: number): void {
  const leg = at.legs.get(name);
  if (leg === undefined || leg.isHangingUp) return;
  leg.isHangingUp = true;
  for (const plans of [leg.plans, leg.talk, leg.hearing]) cancelAll(plans);
  const ending: Ending =
    leg.state === "answered"
      ? { outcome: "hung_up", cause, sip_status: null, by: "us" }
      : { outcome: "canceled", cause, sip_status: 487, by: "us" };
  leg.plans.push(at.after(soon_ms, () => end(at, leg, ending)));
}

/** Whoever joins begins the talk of all in the bridge anew. */
export function joinLegs(at: SandboxSwitch, name: string, names: readonly string[]): void {
  const legs = names.flatMap((leg) => at.legs.get(leg) ?? []);
  if (legs.some(({ state }) => state !== "answered"))
    throw new VoiceError("refused", "only a leg that was answered can be bridged");
  if (!at.bridges.has(name) && at.bridges.size >= live_max)
    throw new VoiceError("refused", "the sandbox has no room for another bridge");
  const bridge = at.bridges.get(name) ?? { legs: new Set(), recordings: new Map() };
  at.bridges.set(name, bridge);
  const joining = legs.filter((leg) => leg.bridge !== name);
  for (const leg of joining) {
    leaveBridge(at, leg);
    leg.bridge = name;
    bridge.legs.add(leg);
  }
  if (joining.length === 0 || bridge.legs.size < 2) return;
  for (const leg of bridge.legs) talk(at, leg);
}

function talk(at: SandboxSwitch, leg: SandboxLeg): void {
  cancelAll(leg.talk);
  if (leg.life.kind !== "answers" || leg.isHangingUp) return;
  const { leaves } = leg.life;
  if (leaves?.since === "bridge")
    leg.talk.push(at.after(leaves.after_ms, () => end(at, leg, farEndHungUp())));
  for (const press of leg.presses) {
    const run = () => {
      leg.presses = leg.presses.filter((one) => one !== press);
      at.hear?.({ type: "digit", leg: leg.name, digit: press.digit, at: at.now() });
    };
    leg.talk.push(at.after(press.after_ms, run));
  }
}

/** One who is left alone waits, without a key or a word. */
function leaveBridge(at: SandboxSwitch, leg: SandboxLeg): void {
  cancelAll(leg.talk);
  const bridge = leg.bridge === null ? undefined : at.bridges.get(leg.bridge);
  leg.bridge = null;
  bridge?.legs.delete(leg);
  if (bridge?.legs.size === 1) for (const alone of bridge.legs) cancelAll(alone.talk);
}

export function endBridge(at: SandboxSwitch, name: string): void {
  const bridge = at.bridges.get(name);
  if (bridge === undefined) return;
  for (const leg of bridge.legs) leaveBridge(at, leg);
  at.bridges.delete(name);
  for (const [recording, began_ms] of bridge.recordings) {
    at.recordings.end(recording, at.now().getTime() - began_ms);
    at.after(soon_ms, () => at.hear?.({ type: "recorded", recording, ok: true }));
  }
}

export function recordBridge(at: SandboxSwitch, name: string, recording: string): void {
  const bridge = at.bridges.get(name);
  if (bridge === undefined || bridge.recordings.has(recording)) return;
  bridge.recordings.set(recording, at.now().getTime());
  at.recordings.begin(recording);
}

export function surveyLegs(at: SandboxSwitch): Pick<Survey, "legs" | "bridges"> {
  return {
    legs: Array.from(at.legs.values(), ({ name, call, state }) => ({ leg: name, call, state })),
    bridges: [...at.bridges.keys()],
  };
}

export function cancelAll(plans: (() => void)[]): void {
  for (const cancel of plans.splice(0)) cancel();
}
