import { MPEGDecoder } from "mpg123-decoder";
import type { SampleCollector } from "./collect-samples.ts";

/** Small, so that a file that is too long is detected early. */
const chunk_bytes = 16_384;

/** Decodes an MP3 file; skips damaged frames. Throws AudioError. */
export async function decodeMp3(file: Buffer, collector: SampleCollector): Promise<void> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  for (let offset = 0; offset < file.length; offset += chunk_bytes) {
    const decoded = decoder.decode(file.subarray(offset, offset + chunk_bytes));
    collector.push(decoded.channelData, decoded.sampleRate);
  }
}
