import { AudioError } from "./audio-error.ts";
import { decodeMp3 } from "./decode-mp3.ts";
import { decodeOpus } from "./decode-opus.ts";
import { decodeVorbis } from "./decode-vorbis.ts";
import { collectSamples, type SampleCollector } from "./collect-samples.ts";
import type { AudioKind } from "./sniff-audio.ts";
import { readWav } from "./wav.ts";

const decoders = {
  wav: async (file: Buffer, collector: SampleCollector) => readWav(file, collector),
  mp3: decodeMp3,
  opus: decodeOpus,
  vorbis: decodeVorbis,
} as const satisfies Record<AudioKind, (file: Buffer, collector: SampleCollector) => Promise<void>>;

/**
 * Decodes a file of this kind to the format of audio.ts. Blocks the thread: use decodeAudio elsewhere. Throws
 * AudioError.
 */
export async function decodeFile(
  file: Buffer,
  kind: AudioKind,
  duration_ms_max: number,
): Promise<Buffer> {
  const collector = collectSamples(duration_ms_max);
  try {
    await decoders[kind](file, collector);
  } catch (error) {
    if (error instanceof AudioError) throw error;
    // The decoder failed: keep what it decoded before, as players do.
    if (collector.isEmpty()) throw new AudioError("the file is damaged");
  }
  return collector.samples();
}
