import type { CallMedia } from "../../call-media.ts";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { Timers } from "../../../lib/timers.ts";

/** Opens the media of a caller who makes no sound: only how long the written audio takes to play is kept. */
export function openRehearsalMedia(timers: Timers): CallMedia {
  let played_until_ms = timers.now();
  const queued_ms = () => Math.max(0, played_until_ms - timers.now());
  return {
    listen() {},
    write(samples) {
      played_until_ms = timers.now() + queued_ms() + samples.length / bytes_per_ms;
    },
    flush() {
      played_until_ms = timers.now();
    },
    queued_ms,
    close: async () => {},
    // The caller does not hang up.
    closed: new Promise(() => {}),
  };
}
