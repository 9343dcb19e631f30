import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AudioError } from "./audio-error.ts";
import { encodeALaw, encodeMuLaw } from "./g711.ts";
import { shareOfTone } from "../../../test/support/share-of-tone.ts";
import { tone } from "../../../test/support/tones.ts";
import { decodeWav, encodeWav } from "./wav.ts";

const duration_ms_max = 10_000;
const sound = tone(100);

type SampleFormat = {
  readonly encoding: number;
  readonly bits: number;
  readonly bytes: (samples: Buffer) => Buffer;
};

function widen(
  samples: Buffer,
  bytes: number,
  write: (to: Buffer, value: number, at: number) => void,
) {
  const wide = Buffer.alloc((samples.length / 2) * bytes);
  for (let index = 0; index < samples.length / 2; index++)
    write(wide, samples.readInt16LE(index * 2), index * bytes);
  return wide;
}

const formats: Readonly<Record<string, SampleFormat>> = {
  "PCM of 8 bits": {
    encoding: 1,
    bits: 8,
    bytes: (samples) => widen(samples, 1, (to, value, at) => to.writeUInt8((value >> 8) + 128, at)),
  },
  "PCM of 16 bits": { encoding: 1, bits: 16, bytes: (samples) => samples },
  "PCM of 24 bits": {
    encoding: 1,
    bits: 24,
    bytes: (samples) => widen(samples, 3, (to, value, at) => to.writeIntLE(value * 256, at, 3)),
  },
  "PCM of 32 bits": {
    encoding: 1,
    bits: 32,
    bytes: (samples) => widen(samples, 4, (to, value, at) => to.writeInt32LE(value * 65_536, at)),
  },
  "floating point": {
    encoding: 3,
    bits: 32,
    bytes: (samples) => widen(samples, 4, (to, value, at) => to.writeFloatLE(value / 32_768, at)),
  },
  "A-law": { encoding: 6, bits: 8, bytes: encodeALaw },
  "mu-law": { encoding: 7, bits: 8, bytes: encodeMuLaw },
};

function chunk(name: string, data: Buffer, size = data.length): Buffer {
  const header = Buffer.alloc(8);
  header.write(name, "latin1");
  header.writeUInt32LE(size, 4);
  return Buffer.concat([header, data, Buffer.alloc(data.length % 2)]);
}

function riff(chunks: readonly Buffer[], size?: number): Buffer {
  const all = Buffer.concat([Buffer.from("WAVE"), ...chunks]);
  return chunk("RIFF", all, size ?? all.length);
}

function format(encoding: number, bits: number, channels = 1, rate_hz = 8_000): Buffer {
  const data = Buffer.alloc(16);
  data.writeUInt16LE(encoding, 0);
  data.writeUInt16LE(channels, 2);
  data.writeUInt32LE(rate_hz, 4);
  data.writeUInt16LE(bits, 14);
  return data;
}

function extensible(encoding: number, bits: number): Buffer {
  const more = Buffer.alloc(24);
  more.writeUInt16LE(22, 0);
  more.writeUInt16LE(bits, 2);
  more.writeUInt16LE(encoding, 8);
  return Buffer.concat([format(0xfffe, bits), more]);
}

const read = (file: Buffer) => decodeWav(file, duration_ms_max);
const plain = chunk("fmt ", format(1, 16));

test("decodeWav returns the samples that encodeWav wrote", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 2_000 }), (bytes) => {
      const samples = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)));
      assert.deepEqual(read(encodeWav(samples)), samples);
    }),
  );
});

test("decodes every sample format, plain or extensible, with one channel or eight", () => {
  for (const [name, { encoding, bits, bytes }] of Object.entries(formats))
    for (const head of [format(encoding, bits), extensible(encoding, bits)]) {
      const decoded = read(riff([chunk("fmt ", head), chunk("data", bytes(sound))]));
      assert.equal(decoded.length, sound.length, name);
      assert.ok(shareOfTone(decoded, 440, 8_000) > 0.99, name);
    }
  const frames = Buffer.alloc(sound.length * 8);
  for (let index = 0; index < sound.length / 2; index++)
    for (let channel = 0; channel < 8; channel++)
      // One of eight channels has the tone, the others are silent: the mix has an eighth of its level.
      frames.writeInt16LE(
        channel === 3 ? sound.readInt16LE(index * 2) : 0,
        (index * 8 + channel) * 2,
      );
  const mixed = read(riff([chunk("fmt ", format(1, 16, 8)), chunk("data", frames)]));
  assert.equal(mixed.length, sound.length);
  assert.ok(Math.abs(mixed.readInt16LE(10) - sound.readInt16LE(10) / 8) <= 1);
});

test("accepts other chunks, odd sizes, and missing or wrong sizes", () => {
  const data = chunk("data", sound);
  const files = {
    "an odd chunk before": riff([chunk("LIST", Buffer.from("odd")), plain, data]),
    "a chunk after": riff([plain, data, chunk("LIST", Buffer.from("tags"))]),
    "a stream by 0": riff([plain, chunk("data", sound, 0)], 0),
    "a stream by -1": riff([plain, chunk("data", sound, 0xffff_ffff)], 0xffff_ffff),
    "a stream of espeak-ng": riff([plain, chunk("data", sound, 0x7fff_f000)], 0x7fff_f024),
    "a wrong size of the whole": riff([plain, data], 3),
  };
  for (const [name, file] of Object.entries(files)) assert.deepEqual(read(file), sound, name);
  const cut = riff([plain, data]).subarray(0, -101);
  assert.deepEqual(read(cut), sound.subarray(0, sound.length - 102), "cut off inside a sample");
});

test("attenuates audio above full scale, without silencing the rest for an invalid value", () => {
  const values = Float32Array.from({ length: 800 }, (_, index) => 2 * Math.sin(index / 3));
  const floats = (given: Float32Array) =>
    riff([chunk("fmt ", format(3, 32)), chunk("data", Buffer.from(given.buffer))]);
  const decoded = read(floats(values));
  assert.ok(Math.abs(decoded.readInt16LE(20) / 32_768 - values[10]! / 2) < 0.01);
  for (const broken of [Number.NaN, Number.POSITIVE_INFINITY, 1e30]) {
    const given = Float32Array.from(values);
    given[400] = broken;
    const rest = read(floats(given));
    assert.ok(rest.readInt16LE(10) / 32_768 > 0.4, `beside ${broken}`);
  }
});

test("rejects files without valid audio, with the reason", () => {
  const data = chunk("data", sound);
  for (const [reason, file] of [
    [/must be a WAV file/, Buffer.from("RIFFxxxxAVI ")],
    [/contains no audio/, riff([plain])],
    [/contains no audio/, riff([plain, chunk("data", Buffer.alloc(0))])],
    [/has no format chunk/, riff([data])],
    [/format chunk of the WAV file is damaged/, riff([chunk("fmt ", Buffer.alloc(4)), data])],
    [/1-8 channels, not 0/, riff([chunk("fmt ", format(1, 16, 0)), data])],
    [/1-8 channels, not 9/, riff([chunk("fmt ", format(1, 16, 9)), data])],
    [/2000-192000 Hz, not 0/, riff([chunk("fmt ", format(1, 16, 1, 0)), data])],
    [
      /2000-192000 Hz, not 4000000000/,
      riff([chunk("fmt ", format(1, 16, 1, 4_000_000_000)), data]),
    ],
    [/encoding 2, 8 bits/, riff([chunk("fmt ", format(2, 8)), data])],
    [/encoding 1, 0 bits/, riff([chunk("fmt ", format(1, 0)), data])],
    [/at most 10 seconds long/, encodeWav(Buffer.alloc(160_002))],
  ] as const)
    assert.throws(
      () => read(file),
      (error) => error instanceof AudioError && reason.test(error.message),
    );
  assert.equal(read(encodeWav(Buffer.alloc(160_000))).length, 160_000);
});
