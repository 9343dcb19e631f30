import { MPEGDecoder } from "mpg123-decoder";
import type { SampleGatherer } from "./gather-samples.ts";

/** Little enough that what it decodes to is little: a file that is too long is noticed early. */
const bytes_at_once = 16_384;

/** Reads a file of the kind `mp3`; throws AudioRefused. Frames that are damaged are left out. */
export async function decodeMp3(file: Buffer, sound: SampleGatherer): Promise<void> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  for (let offset = 0; offset < file.length; offset += bytes_at_once) {
    const decoded = decoder.decode(file.subarray(offset, offset + bytes_at_once));
    sound.push(decoded.channelData, decoded.sampleRate);
  }
}
