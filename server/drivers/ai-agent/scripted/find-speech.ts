// Where in a stream of sound somebody speaks: by its energy against the noise of the line.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";

const frame_ms = 20;
const frame_bytes = frame_ms * bytes_per_ms;
/** So many loud frames in a row are a voice, not a click. */
const onset_frames = 4;
/** Kept from before the onset, so that no first sound is lost. */
const lead_frames = 15;
const end_frames = 700 / frame_ms;
const speech_frames_max = 15_000 / frame_ms;

/** Levels are root mean squares of samples. */
const quietest_threshold = 300;
const loudest_floor = 3_000;
const above_floor = 3;
const floor_at_first = 60;
/** Per frame: the floor falls fast to what is quieter, and rises slowly, by about a fifth in a second. */
const fall = 0.2;
const rise = 1.004;

export type SpeechHeard = {
  readonly began: () => void;
  /** What was said, with a little before and 700 ms of quiet after; at most about 15 s. */
  readonly ended: (samples: Buffer) => void;
};

/** Takes sound of any length; time is that of the sound. */
export function findSpeech({ began, ended }: SpeechHeard): (samples: Buffer) => void {
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
    // What never ended is noise: the quietest of it is the line's new floor.
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
