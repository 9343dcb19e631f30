// Plays audio to a leg in order, as one playback.
import { SpeechError } from "../../../drivers/speech/driver.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import { legName } from "../../state-machine/call.ts";
import type { Audio } from "../../../lib/audio/audio.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/** How soon calls are reconciled after a failed playback. */
const reconcile_ms = 500;

export type Playing = {
  readonly leg: number;
  readonly playback: string;
  readonly audio: readonly (() => Promise<Audio>)[];
  /** Whether the call still wants the playback. */
  readonly isWanted: () => boolean;
};

/**
 * Queues a playback behind earlier ones of the call. Reports an unplayable one as `played`, and retries
 * temporary errors after the next reconciliation.
 */
export function playInOrder(leader: Leader, live: LiveCall, playing: Playing): void {
  live.playing = live.playing.then(() => playAll(leader, live, playing));
}

async function playAll(leader: Leader, live: LiveCall, playing: Playing): Promise<void> {
  const { playback } = playing;
  const leg = legName(live.call, { id: playing.leg });
  try {
    for (const [i, read] of playing.audio.entries()) {
      const audio = await read();
      if (!playing.isWanted() || !leader.lease.mayProceed()) return;
      const isLast = i === playing.audio.length - 1;
      await leader.session.play(leg, isLast ? playback : `${playback}-${i}`, audio);
    }
  } catch (err) {
    const { account_id, id: call_id } = live.call;
    leader.app.log.warn({ err, account_id, call_id }, "could not play a prompt");
    // Any other error may be temporary: the switch or the database is unavailable, or TTS is busy.
    const isRefused = err instanceof VoiceError && err.failure === "refused";
    if (!isRefused && !(err instanceof SpeechError)) {
      live.needs_resume = true;
      return leader.reconcileIn(reconcile_ms);
    }
    const at = leader.app.clock.now();
    leader.dispatch(live, { type: "played", leg: playing.leg, playback, ok: false, at });
  }
}
