// What the sandbox's legs are made to hear and asked to say. Whoever hears something of ours is a
// customer, also one who was called before anybody else.
import { VoiceError, type MessageLimits } from "../driver.ts";
import type { Audio } from "../../../lib/audio/audio.ts";
import { legLife, type LegLife } from "./leg-life.ts";
import { cancelAll, soon_ms, type SandboxLeg, type SandboxSwitch } from "./sandbox-switch.ts";

const detects_ms = 1_500;
/** So long somebody speaks who is asked for a message, and then is silent. */
const speaks_ms = 3_000;

/** The leg, if it lives, as one that talks to a service; null: it is over, or is about to be. */
export function serveLeg(at: SandboxSwitch, name: string): SandboxLeg | null {
  const leg = at.legs.get(name);
  if (leg === undefined || leg.isHangingUp) return null;
  if (leg.state !== "answered")
    throw new VoiceError("refused", "only a leg that was answered hears anything");
  leg.life = legLife(leg.number, "customer");
  return leg;
}

export function playAudio(at: SandboxSwitch, name: string, playback: string, audio: Audio): void {
  const leg = serveLeg(at, name);
  if (leg === null || leg.heard.has(playback)) return;
  leg.heard.add(playback);
  leg.playing.push({ playback, duration_ms: audio.duration_ms });
  if (leg.playing.length > 1) return;
  pressKeys(at, leg, audio.duration_ms / 2);
  playNext(at, leg);
}

function playNext(at: SandboxSwitch, leg: SandboxLeg): void {
  const [next] = leg.playing;
  if (next === undefined) return;
  const run = () => {
    leg.playing.shift();
    tellPlayed(at, leg, next.playback);
    playNext(at, leg);
  };
  leg.hearing.push(at.after(next.duration_ms, run));
}

/** Whoever connects next may ask again for what nobody heard the end of. */
function tellPlayed(at: SandboxSwitch, { name: leg, heard }: SandboxLeg, playback: string): void {
  if (!at.hear) heard.delete(playback);
  at.hear?.({ type: "played", leg, playback, ok: true, at: at.now() });
}

/** The first so long from now; each once in a call, also where what it was to be pressed at was stopped. */
export function pressKeys(at: SandboxSwitch, leg: SandboxLeg, first_ms?: number): void {
  const [first] = leg.presses;
  for (const press of leg.presses) {
    const run = () => {
      leg.presses = leg.presses.filter((one) => one !== press);
      at.hear?.({ type: "digit", leg: leg.name, digit: press.digit, at: at.now() });
    };
    const delay_ms = (first_ms ?? first!.after_ms) + press.after_ms - first!.after_ms;
    leg.hearing.push(at.after(delay_ms, run));
  }
}

export function stopPlaying(at: SandboxSwitch, name: string): void {
  const leg = at.legs.get(name);
  if (leg === undefined || leg.isHangingUp) return;
  cancelAll(leg.hearing);
  const stopped = leg.playing;
  leg.playing = [];
  const run = () => {
    for (const { playback } of stopped) tellPlayed(at, leg, playback);
  };
  leg.hearing.push(at.after(soon_ms, run));
}

export function detectAnswerer(at: SandboxSwitch, name: string): void {
  const leg = serveLeg(at, name);
  if (leg === null || leg.isDetecting) return;
  leg.isDetecting = true;
  const { answered_by } = leg.life as Extract<LegLife, { kind: "answers" }>;
  const run = () => {
    leg.isDetecting = false;
    at.hear?.({ type: "detected", leg: leg.name, answered_by, at: at.now() });
  };
  leg.plans.push(at.after(detects_ms, run));
}

export function recordMessage(
  at: SandboxSwitch,
  name: string,
  recording: string,
  { max_seconds, silence_seconds }: MessageLimits,
): void {
  const leg = serveLeg(at, name);
  if (leg === null || at.messages.has(recording)) return;
  const began_ms = at.now().getTime();
  const finish = () => {
    cancel();
    leg.at_end.delete(finish);
    at.messages.delete(recording);
    at.recordings.end(recording, at.now().getTime() - began_ms);
    at.after(soon_ms, () => at.hear?.({ type: "recorded", recording, ok: true }));
  };
  const cancel = at.after(
    Math.min(max_seconds * 1_000, speaks_ms + silence_seconds * 1_000),
    finish,
  );
  at.recordings.begin(recording);
  at.messages.set(recording, finish);
  leg.at_end.add(finish);
}
