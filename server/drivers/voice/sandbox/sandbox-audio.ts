// Playback, AMD and message recording on the sandbox's legs. A leg to which audio plays is a customer, even
// if it was dialed first.
import { VoiceError, type MessageLimits } from "../driver.ts";
import type { Audio } from "../../../lib/audio/audio.ts";
import { behaviorOf, type LegBehavior } from "./leg-behavior.ts";
import { cancelAll, soon_ms, type SandboxLeg, type SandboxSwitch } from "./sandbox-switch.ts";

const detects_ms = 1_500;
/** How long a simulated machine greets after it was detected. */
const greets_ms = 3_000;
const silence_ms = 2_000;
/** How long a simulated caller speaks when a message is recorded; silence follows. */
const speaks_ms = 3_000;

/** Returns a live leg in the role of a customer; null when it has ended or is being hung up. */
export function serveLeg(at: SandboxSwitch, name: string): SandboxLeg | null {
  const leg = at.legs.get(name);
  if (leg === undefined || leg.isHangingUp) return null;
  if (leg.state !== "answered")
    throw new VoiceError("refused", "the leg must be answered before audio is played or recorded");
  leg.behavior = behaviorOf(leg.number, "customer");
  return leg;
}

export function playAudio(at: SandboxSwitch, name: string, playback: string, audio: Audio): void {
  const leg = serveLeg(at, name);
  if (leg === null || leg.requested.has(playback)) return;
  leg.requested.add(playback);
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
    reportPlayed(at, leg, next.playback);
    playNext(at, leg);
  };
  leg.playback_timers.push(at.after(next.duration_ms, run));
}

/** Without a session, drops the playback, so that the next session can request it again. */
function reportPlayed(
  at: SandboxSwitch,
  { name: leg, requested }: SandboxLeg,
  playback: string,
): void {
  if (!at.emit) requested.delete(playback);
  at.emit?.({ type: "played", leg, playback, ok: true, at: at.now() });
}

/** Schedules the leg's keys, the first after `first_ms`. Keys that a stop cancels are pressed during later audio. */
export function pressKeys(at: SandboxSwitch, leg: SandboxLeg, first_ms?: number): void {
  const [first] = leg.presses;
  for (const press of leg.presses) {
    const run = () => {
      leg.presses = leg.presses.filter((one) => one !== press);
      at.emit?.({ type: "digit", leg: leg.name, digit: press.digit, at: at.now() });
    };
    const delay_ms = (first_ms ?? first!.after_ms) + press.after_ms - first!.after_ms;
    leg.playback_timers.push(at.after(delay_ms, run));
  }
}

export function stopPlaying(at: SandboxSwitch, name: string): void {
  const leg = at.legs.get(name);
  if (leg === undefined || leg.isHangingUp) return;
  cancelAll(leg.playback_timers);
  const stopped = leg.playing;
  leg.playing = [];
  const run = () => {
    for (const { playback } of stopped) reportPlayed(at, leg, playback);
  };
  leg.playback_timers.push(at.after(soon_ms, run));
}

export function detectAnswerer(at: SandboxSwitch, name: string): void {
  const leg = serveLeg(at, name);
  if (leg === null || leg.isDetecting) return;
  leg.isDetecting = true;
  const { answered_by } = leg.behavior as Extract<LegBehavior, { kind: "answers" }>;
  const run = () => {
    leg.isDetecting = false;
    at.emit?.({ type: "detected", leg: leg.name, answered_by, at: at.now() });
  };
  leg.timers.push(at.after(detects_ms, run));
}

/** See VoiceSession.awaitSilence. */
export function awaitSilence(at: SandboxSwitch, name: string): void {
  const leg = serveLeg(at, name);
  if (leg === null || leg.awaitsSilence) return;
  leg.awaitsSilence = true;
  const { answered_by } = leg.behavior as Extract<LegBehavior, { kind: "answers" }>;
  const greeting_ms = answered_by === "machine" ? greets_ms : 0;
  const run = () => at.emit?.({ type: "silent", leg: leg.name, at: at.now() });
  leg.timers.push(at.after(greeting_ms + silence_ms, run));
}

export function recordMessage(
  at: SandboxSwitch,
  name: string,
  recording: string,
  { max_seconds, silence_seconds }: MessageLimits,
): void {
  const leg = serveLeg(at, name);
  if (leg === null || at.messages.has(recording)) return;
  const started_ms = at.now().getTime();
  const finish = () => {
    cancel();
    leg.on_end.delete(finish);
    at.messages.delete(recording);
    at.recordings.end(recording, at.now().getTime() - started_ms);
    at.after(soon_ms, () => at.emit?.({ type: "recorded", recording, ok: true }));
  };
  const cancel = at.after(
    Math.min(max_seconds * 1_000, speaks_ms + silence_seconds * 1_000),
    finish,
  );
  at.recordings.start(recording);
  at.messages.set(recording, finish);
  leg.on_end.add(finish);
}
