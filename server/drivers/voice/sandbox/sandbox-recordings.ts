// Recordings of the sandbox: nothing is stored but their lengths; what they sound like follows from
// their names, so that those of an earlier process can be heard as well.
import { Readable } from "node:stream";

/** Recordings whose length or end is remembered; the oldest is forgotten first. */
const remembered_max = 10_000;
/** Of a recording whose length is forgotten. */
const usual_ms = 5_000;

const samples_per_second = 8_000;
const amplitude = 8_000;

export type SandboxRecordings = {
  begin(name: string): void;
  end(name: string, length_ms: number): void;
  /** Null while it is being recorded, and once it is deleted. */
  read(name: string): Readable | null;
  delete(name: string): void;
};

export function openSandboxRecordings(): SandboxRecordings {
  const known = new Map<string, number | "recording" | "deleted">();
  const remember = (name: string, what: number | "recording" | "deleted") => {
    known.delete(name);
    known.set(name, what);
    if (known.size > remembered_max) known.delete(known.keys().next().value ?? "");
  };
  return {
    begin: (name) => remember(name, "recording"),
    end(name, length_ms) {
      if (known.get(name) !== "deleted") remember(name, length_ms);
    },
    read(name) {
      const length = known.get(name) ?? usual_ms;
      return typeof length === "number" ? toneAsWav(name, length) : null;
    },
    delete: (name) => remember(name, "deleted"),
  };
}

/** 8 kHz, mono, 16 bit. Two tones in turn, as if two people talked; how high tells names apart. */
function toneAsWav(name: string, length_ms: number): Readable {
  const samples = Math.round((length_ms * samples_per_second) / 1_000);
  const pitch_hz = 300 + 20 * (Buffer.from(name).reduce((sum, byte) => sum + byte, 0) % 16);
  return Readable.from(chunks(samples, pitch_hz), { objectMode: false });
}

function* chunks(samples: number, pitch_hz: number): Generator<Buffer> {
  yield header(samples * 2);
  // Whole oscillations, so that a second joins the next.
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
