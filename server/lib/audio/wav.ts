// WAV files: RIFF with PCM, floating point or G.711, including files of streaming encoders, which never fill
// in the sizes.
import { AudioError } from "./audio-error.ts";
import { sample_rate_hz } from "./audio.ts";
import { decodeALaw, decodeMuLaw } from "./g711.ts";
import { collectSamples, type SampleCollector } from "./collect-samples.ts";

type WavFormat = {
  readonly encoding: number;
  readonly channels: number;
  readonly rate_hz: number;
  readonly bits: number;
};

const pcm = 1;
const float = 3;
const a_law = 6;
const mu_law = 7;
const extensible = 0xfffe;
const channels_max = 8;
/** Streaming encoders write this or more instead of a size. */
const unknown_size_min = 0x7fff_0000;
const chunk_frames = 16_384;

/** Returns whether the file has the header of a WAV file. */
export function isWav(file: Buffer): boolean {
  const kind = file.toString("latin1", 0, 4);
  return (kind === "RIFF" || kind === "RF64") && file.toString("latin1", 8, 12) === "WAVE";
}

/** Decodes a file for which `isWav` is true. Throws AudioError. */
export function readWav(file: Buffer, collector: SampleCollector): void {
  const { format, data } = findChunks(file);
  const valueAt = readerFor(format);
  const bytes = format.bits / 8;
  const frames = Math.floor(data.length / (bytes * format.channels));
  for (let start = 0; start < frames; start += chunk_frames) {
    const count = Math.min(chunk_frames, frames - start);
    const channels = Array.from({ length: format.channels }, (_, channel) =>
      Float32Array.from({ length: count }, (__, index) =>
        valueAt(data, ((start + index) * format.channels + channel) * bytes),
      ),
    );
    collector.push(channels, format.rate_hz);
  }
}

/**
 * Decodes a WAV file of any sample rate to the format of audio.ts. Takes 1 ms per second of audio. Throws
 * AudioError.
 */
export function decodeWav(file: Buffer, duration_ms_max: number): Buffer {
  if (!isWav(file)) throw new AudioError("the file must be a WAV file");
  const collector = collectSamples(duration_ms_max);
  readWav(file, collector);
  return collector.samples();
}

/** Encodes samples in the format of audio.ts as a WAV file. */
export function encodeWav(samples: Buffer): Buffer {
  return Buffer.concat([wavHeader(samples.length), samples]);
}

/** Returns the header of a WAV file with this many bytes of samples in the format of audio.ts. */
export function wavHeader(bytes: number): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + bytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(pcm, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sample_rate_hz, 24);
  header.writeUInt32LE(sample_rate_hz * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(bytes, 40);
  return header;
}

function findChunks(file: Buffer): { readonly format: WavFormat; readonly data: Buffer } {
  const riff_size = file.readUInt32LE(4);
  let format: WavFormat | null = null;
  for (let offset = 12; offset + 8 <= file.length;) {
    const name = file.toString("latin1", offset, offset + 4);
    const size = file.readUInt32LE(offset + 4);
    const start = offset + 8;
    if (name === "fmt ") format = readFormat(file.subarray(start, start + size));
    if (name === "data") {
      if (format === null) throw new AudioError("the WAV file has no format chunk");
      const isStream = size === 0 && (riff_size === 0 || riff_size >= unknown_size_min);
      return { format, data: file.subarray(start, isStream ? file.length : start + size) };
    }
    // Chunks are aligned to even offsets.
    offset = start + size + (size % 2);
  }
  throw new AudioError("the file contains no audio");
}

function readFormat(chunk: Buffer): WavFormat {
  if (chunk.length < 16) throw new AudioError("the format chunk of the WAV file is damaged");
  const format_tag = chunk.readUInt16LE(0);
  // The actual encoding is in the first bytes of a GUID.
  const encoding =
    format_tag === extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : format_tag;
  const channels = chunk.readUInt16LE(2);
  const bits = Math.ceil(chunk.readUInt16LE(14) / 8) * 8;
  if (channels < 1 || channels > channels_max)
    throw new AudioError(`the audio must have 1-${channels_max} channels, not ${channels}`);
  return { encoding, channels, rate_hz: chunk.readUInt32LE(4), bits };
}

/** Returns the function that reads one value, full scale 1. */
function readerFor({ encoding, bits }: WavFormat): (data: Buffer, offset: number) => number {
  switch (`${encoding} of ${bits} bits`) {
    case `${pcm} of 8 bits`:
      return (data, offset) => (data[offset]! - 128) / 128;
    case `${pcm} of 16 bits`:
      return (data, offset) => data.readInt16LE(offset) / 2 ** 15;
    case `${pcm} of 24 bits`:
      return (data, offset) => data.readIntLE(offset, 3) / 2 ** 23;
    case `${pcm} of 32 bits`:
      return (data, offset) => data.readInt32LE(offset) / 2 ** 31;
    case `${float} of 32 bits`:
      return (data, offset) => data.readFloatLE(offset);
    case `${a_law} of 8 bits`:
      return tableReader(decodeALaw(everyByte));
    case `${mu_law} of 8 bits`:
      return tableReader(decodeMuLaw(everyByte));
    default:
      throw new AudioError(
        `the WAV encoding is not supported (encoding ${encoding}, ${bits} bits)`,
      );
  }
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

function tableReader(linear: Buffer): (data: Buffer, offset: number) => number {
  return (data, offset) => linear.readInt16LE(data[offset]! * 2) / 2 ** 15;
}
