import { OggVorbisDecoder, type OggVorbisDecodedAudio } from "@wasm-audio-decoders/ogg-vorbis";
import { AudioRefused } from "./audio-refused.ts";
import type { SampleGatherer } from "./gather-samples.ts";

const channels_max = 8;
/** Little enough that what it decodes to is little: a file that is too long is noticed early. */
const bytes_at_once = 4_096;

/** Reads a file of the kind `vorbis`; throws AudioRefused, and what the decoder throws. */
export async function decodeVorbis(file: Buffer, sound: SampleGatherer): Promise<void> {
  const channels = file[file.indexOf("\u0001vorbis", 0, "latin1") + 11] ?? 0;
  if (channels < 1 || channels > channels_max)
    throw new AudioRefused(`it has ${channels} channels; 1-${channels_max} can be taken`);
  const decoder = new OggVorbisDecoder();
  await decoder.ready;
  const push = (decoded: OggVorbisDecodedAudio) =>
    sound.push(decoded.channelData, decoded.sampleRate);
  for (let offset = 0; offset < file.length; offset += bytes_at_once)
    push(await decoder.decode(file.subarray(offset, offset + bytes_at_once)));
  push(await decoder.flush());
}
