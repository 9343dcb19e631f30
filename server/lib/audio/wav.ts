// WAV files: RIFF with PCM, floating point or G.711 inside, as people's tools write them, sizes of streams
// that were never filled in included.
import { AudioRefused } from "./audio-refused.ts";
import { sample_rate_hz } from "./audio.ts";
import { decodeALaw, decodeMuLaw } from "./g711.ts";
import { gatherSamples, type SampleGatherer } from "./gather-samples.ts";

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
/** Streams say this, or more, where a size should stand. */
const never_filled_in = 0x7fff_0000;
const frames_at_once = 16_384;

/** Whether this begins as a WAV file does. */
export function isWav(file: Buffer): boolean {
  const kind = file.toString("latin1", 0, 4);
  return (kind === "RIFF" || kind === "RF64") && file.toString("latin1", 8, 12) === "WAVE";
}

/** Reads a file that isWav; throws AudioRefused. */
export function readWav(file: Buffer, sound: SampleGatherer): void {
  const { format, data } = findChunks(file);
  const valueAt = readerOf(format);
  const bytes = format.bits / 8;
  const frames = Math.floor(data.length / (bytes * format.channels));
  for (let start = 0; start < frames; start += frames_at_once) {
    const count = Math.min(frames_at_once, frames - start);
    const channels = Array.from({ length: format.channels }, (_, channel) =>
      Float32Array.from({ length: count }, (__, index) =>
        valueAt(data, ((start + index) * format.channels + channel) * bytes),
      ),
    );
    sound.push(channels, format.rate_hz);
  }
}

/** The samples of clip.ts that are in a WAV file of any rate. Takes 1 ms a second; throws AudioRefused. */
export function samplesOfWav(file: Buffer, duration_ms_max: number): Buffer {
  if (!isWav(file)) throw new AudioRefused("it is not a WAV file");
  const sound = gatherSamples(duration_ms_max);
  readWav(file, sound);
  return sound.samples();
}

/** A WAV file of samples of clip.ts. */
export function toWav(samples: Buffer): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(pcm, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sample_rate_hz, 24);
  header.writeUInt32LE(sample_rate_hz * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

function findChunks(file: Buffer): { readonly format: WavFormat; readonly data: Buffer } {
  const whole = file.readUInt32LE(4);
  let format: WavFormat | null = null;
  for (let offset = 12; offset + 8 <= file.length;) {
    const name = file.toString("latin1", offset, offset + 4);
    const size = file.readUInt32LE(offset + 4);
    const start = offset + 8;
    if (name === "fmt ") format = readFormat(file.subarray(start, start + size));
    if (name === "data") {
      if (format === null) throw new AudioRefused("it is a WAV file that says nothing of its form");
      const stream = size === 0 && (whole === 0 || whole >= never_filled_in);
      return { format, data: file.subarray(start, stream ? file.length : start + size) };
    }
    // Chunks begin at even places.
    offset = start + size + (size % 2);
  }
  throw new AudioRefused("there is no sound in it");
}

function readFormat(chunk: Buffer): WavFormat {
  if (chunk.length < 16) throw new AudioRefused("it is a WAV file whose beginning is damaged");
  const named = chunk.readUInt16LE(0);
  // The real name stands in the first bytes of a GUID.
  const encoding = named === extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : named;
  const channels = chunk.readUInt16LE(2);
  const bits = Math.ceil(chunk.readUInt16LE(14) / 8) * 8;
  if (channels < 1 || channels > channels_max)
    throw new AudioRefused(`it has ${channels} channels; 1-${channels_max} can be taken`);
  return { encoding, channels, rate_hz: chunk.readUInt32LE(4), bits };
}

/** How one value is read, 1 being the loudest. */
function readerOf({ encoding, bits }: WavFormat): (data: Buffer, offset: number) => number {
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
      return readerOfTable(decodeALaw(everyByte));
    case `${mu_law} of 8 bits`:
      return readerOfTable(decodeMuLaw(everyByte));
    default:
      throw new AudioRefused(
        `it is a WAV file of a kind that is not supported (encoding ${encoding}, ${bits} bits)`,
      );
  }
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

function readerOfTable(linear: Buffer): (data: Buffer, offset: number) => number {
  return (data, offset) => linear.readInt16LE(data[offset]! * 2) / 2 ** 15;
}
