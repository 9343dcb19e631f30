// Voice activity detection: finds speech in an audio stream by comparing its energy with the line noise.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";

const frame_ms = 20;
const frame_bytes = frame_ms * bytes_per_ms;
/** This many loud frames in a row are speech and not a click. */
const onset_frames = 4;
/** Frames kept from before the onset, so that the first sound is not lost. */
const lead_frames = 15;
const end_frames = 700 / frame_ms;
const speech_frames_max = 15_000 / frame_ms;

/** Levels are the root mean square of the samples. */
const quietest_threshold = 300;
const loudest_floor = 3_000;
const above_floor = 3;
const floor_at_first = 60;
/** Per frame, the noise floor falls fast and rises slowly, by about a fifth per second. */
const fall = 0.2;
const rise = 1.004;

export type SpeechListeners = {
  readonly began: () => void;
  /** Passes the speech with a short lead-in and 700 ms of trailing silence; at most about 15 s. */
  readonly ended: (samples: Buffer) => void;
};

/** Returns a function that takes audio of any length; time is measured by the audio. */
export function detectSpeech({ began, ended }: SpeechListeners): (samples: Buffer) => void {
  let rest = Buffer.alloc(0);
  let floor = floor_at_first;
  let recent: Buffer[] = [];
  let speech: { frames: Buffer[]; quiet: number; lowest: number } | null = null;
  let loud = 0;
  const listen = (frame: Buffer, level: number) => {
    const isLoud = level > thresholdOf(floor);
    floor = level < floor ? floor + (level - floor) * fall : Math.min(floor * rise, loudest_floor);
    floor = Math.max(floor, 1);
    recent = [...recent.slice(-(lead_frames - 1)), frame];
    loud = isLoud ? loud + 1 : 0;
    if (loud < onset_frames) return;
    speech = { frames: recent, quiet: 0, lowest: level };
    recent = [];
    loud = 0;
    began();
  };
  const follow = (to: NonNullable<typeof speech>, frame: Buffer, level: number) => {
    to.frames.push(frame);
    to.lowest = Math.min(to.lowest, level);
    to.quiet = level > thresholdOf(floor) ? 0 : to.quiet + 1;
    if (to.quiet < end_frames && to.frames.length < speech_frames_max) return;
    // Speech that never ends is noise: its lowest level becomes the new noise floor.
    if (to.quiet < end_frames) floor = Math.min(Math.max(floor, to.lowest), loudest_floor);
    speech = null;
    ended(Buffer.concat(to.frames));
  };
  return (samples) => {
    rest = Buffer.concat([rest, samples]);
    for (; rest.length >= frame_bytes; rest = rest.subarray(frame_bytes)) {
      const frame = Buffer.from(rest.subarray(0, frame_bytes));
      if (speech) follow(speech, frame, levelOf(frame));
      else listen(frame, levelOf(frame));
    }
  };
}

function thresholdOf(floor: number): number {
  return Math.max(quietest_threshold, floor * above_floor);
}

function levelOf(frame: Buffer): number {
  let sum = 0;
  for (let at = 0; at < frame.length; at += 2) sum += frame.readInt16LE(at) ** 2;
  return Math.sqrt(sum / (frame.length / 2));
}
