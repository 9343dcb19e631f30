// The sandbox's recordings. Only their lengths are stored; the audio is generated from the name, so that
// recordings of an earlier process can be read too.
import { Readable } from "node:stream";

/** How many recordings are known; the oldest is removed first. */
const known_max = 10_000;
/** The length of a recording that is not known. */
const default_ms = 5_000;

const samples_per_second = 8_000;
const amplitude = 8_000;

export type SandboxRecordings = {
  start(name: string): void;
  end(name: string, length_ms: number): void;
  /** Returns null while it is being recorded and after it was deleted. */
  read(name: string): Readable | null;
  delete(name: string): void;
};

export function openSandboxRecordings(): SandboxRecordings {
  const known = new Map<string, number | "recording" | "deleted">();
  const store = (name: string, state: number | "recording" | "deleted") => {
    known.delete(name);
    known.set(name, state);
    if (known.size > known_max) known.delete(known.keys().next().value ?? "");
  };
  return {
    start: (name) => store(name, "recording"),
    end(name, length_ms) {
      if (known.get(name) !== "deleted") store(name, length_ms);
    },
    read(name) {
      const length = known.get(name) ?? default_ms;
      return typeof length === "number" ? toneAsWav(name, length) : null;
    },
    delete: (name) => store(name, "deleted"),
  };
}

/** 8 kHz, mono, 16 bit. Two alternating tones imitate two people; their pitch depends on the name. */
function toneAsWav(name: string, length_ms: number): Readable {
  const samples = Math.round((length_ms * samples_per_second) / 1_000);
  const pitch_hz = 300 + 20 * (Buffer.from(name).reduce((sum, byte) => sum + byte, 0) % 16);
  return Readable.from(chunks(samples, pitch_hz), { objectMode: false });
}

function* chunks(samples: number, pitch_hz: number): Generator<Buffer> {
  yield header(samples * 2);
  // Whole periods, so that consecutive seconds connect without a click.
  const second = Buffer.alloc(samples_per_second * 2);
  for (let index = 0; index < samples_per_second; index += 1) {
    const hz = index < samples_per_second / 2 ? pitch_hz : pitch_hz * 1.5;
    const phase = (2 * Math.PI * hz * index) / samples_per_second;
    second.writeInt16LE(Math.round(amplitude * Math.sin(phase)), index * 2);
  }
  for (let left = samples; left > 0; left -= samples_per_second)
    yield second.subarray(0, Math.min(left, samples_per_second) * 2);
}

function header(data_bytes: number): Buffer {
  const bytes = Buffer.alloc(44);
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(36 + data_bytes, 4);
  bytes.write("WAVEfmt ", 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(samples_per_second, 24);
  bytes.writeUInt32LE(samples_per_second * 2, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36);
  bytes.writeUInt32LE(data_bytes, 40);
  return bytes;
}
