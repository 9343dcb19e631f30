import { OggVorbisDecoder, type OggVorbisDecodedAudio } from "@wasm-audio-decoders/ogg-vorbis";
import { AudioError } from "./audio-error.ts";
import type { SampleCollector } from "./collect-samples.ts";

const channels_max = 8;
/** Small, so that a file that is too long is detected early. */
const chunk_bytes = 4_096;

/** Decodes an Ogg Vorbis file. Throws AudioError, and what the decoder throws. */
export async function decodeVorbis(file: Buffer, collector: SampleCollector): Promise<void> {
  const channels = file[file.indexOf("\u0001vorbis", 0, "latin1") + 11] ?? 0;
  if (channels < 1 || channels > channels_max)
    throw new AudioError(`the audio must have 1-${channels_max} channels, not ${channels}`);
  const decoder = new OggVorbisDecoder();
  await decoder.ready;
  const push = (decoded: OggVorbisDecodedAudio) =>
    collector.push(decoded.channelData, decoded.sampleRate);
  for (let offset = 0; offset < file.length; offset += chunk_bytes)
    push(await decoder.decode(file.subarray(offset, offset + chunk_bytes)));
  push(await decoder.flush());
}
