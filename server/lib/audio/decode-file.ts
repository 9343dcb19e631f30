import { AudioRefused } from "./audio-refused.ts";
import { decodeMp3 } from "./decode-mp3.ts";
import { decodeOpus } from "./decode-opus.ts";
import { decodeVorbis } from "./decode-vorbis.ts";
import { gatherSamples, type SampleGatherer } from "./gather-samples.ts";
import type { AudioKind } from "./sniff-audio.ts";
import { readWav } from "./wav.ts";

const decoders = {
  wav: async (file: Buffer, sound: SampleGatherer) => readWav(file, sound),
  mp3: decodeMp3,
  opus: decodeOpus,
  vorbis: decodeVorbis,
} as const satisfies Record<AudioKind, (file: Buffer, sound: SampleGatherer) => Promise<void>>;

/** The samples of clip.ts in a file of this kind, here and now: only for a thread of its own. Throws AudioRefused. */
export async function decodeFile(
  file: Buffer,
  kind: AudioKind,
  duration_ms_max: number,
): Promise<Buffer> {
  const sound = gatherSamples(duration_ms_max);
  try {
    await decoders[kind](file, sound);
  } catch (error) {
    if (error instanceof AudioRefused) throw error;
    // A decoder stumbled over the file: as in any player, what came before counts.
    if (sound.isEmpty()) throw new AudioRefused("it is damaged");
  }
  return sound.samples();
}
