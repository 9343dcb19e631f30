import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";
import fc from "fast-check";
import { AudioError } from "./audio-error.ts";
import { bytes_per_ms } from "./audio.ts";
import { audio_limits, decodeAudio } from "./decode-audio.ts";
import { decodeFile } from "./decode-file.ts";
import { sniffAudio } from "./sniff-audio.ts";
import { shareOfTone } from "../../../test/support/share-of-tone.ts";
import { loudnessOf } from "../../../test/support/tones.ts";
import { encodeWav } from "./wav.ts";

const read = (name: string) => readFileSync(new URL(`./test/${name}`, import.meta.url));
const files = {
  "tone.mp3": read("tone.mp3"),
  "tone-stereo.mp3": read("tone-stereo.mp3"),
  "tone.opus": read("tone.opus"),
  "tone.ogg": read("tone.ogg"),
  "tone-alaw.wav": read("tone-alaw.wav"),
  "tone-24.wav": read("tone-24.wav"),
} as const;
const lengths_ms = { "tone-24.wav": 100 } as Readonly<Record<string, number>>;
/** The padding that encoders add at the ends. */
const padding_ms = 60;

const rejected = (reason: RegExp) => (error: unknown) =>
  error instanceof AudioError && reason.test(error.message);

test("decodes concurrent WAV, MP3, Ogg Opus and Ogg Vorbis files correctly", async () => {
  const decoded = await Promise.all(
    Object.entries(files).map(async ([name, file]) => ({ name, ...(await decodeAudio(file)) })),
  );
  for (const { name, samples, duration_ms, format } of decoded) {
    const [, extension] = name.split(".");
    assert.equal(format, extension === "opus" ? "ogg" : extension, name);
    const added_ms = duration_ms - (lengths_ms[name] ?? 1_000);
    assert.ok(added_ms >= 0 && added_ms <= padding_ms, `${name} takes ${duration_ms} ms`);
    assert.equal(Math.ceil(samples.length / bytes_per_ms), duration_ms);
    assert.ok(shareOfTone(samples, 440, 8_000) > 0.9, name);
    assert.ok(loudnessOf(samples) > 1_600, name);
  }
});

test("skips 16 ID3 tags at most, however many a file has", () => {
  const tag = Buffer.from("ID3\u0003\0\0\0\0\0\0", "latin1");
  const mp3After = (bytes: Buffer) => Buffer.concat([bytes, files["tone.mp3"]]);
  const large = Buffer.concat([
    Buffer.from("ID3\u0003\0\0\0\u0008\0\0", "latin1"),
    Buffer.alloc(131_072),
  ]);
  const tags = (count: number) => Buffer.alloc(count * tag.length, tag);
  assert.equal(sniffAudio(mp3After(Buffer.concat([tags(15), large]))), "mp3");
  assert.equal(sniffAudio(mp3After(Buffer.concat([tags(16), large]))), null);
  assert.equal(sniffAudio(mp3After(tags(10_000))), null);
});

test("rejects files that are not audio, with the reason", async () => {
  const id3 = Buffer.concat([
    Buffer.from("ID3\u0003\0\0\0\0\0\u0001", "latin1"),
    Buffer.alloc(9_000),
  ]);
  const theora = Buffer.from(files["tone.ogg"]);
  theora.write("\u0080theora", theora.indexOf("\u0001vorbis"), "latin1");
  for (const file of [
    Buffer.alloc(0),
    Buffer.from("R"),
    Buffer.from("#!/bin/sh\necho hello"),
    Buffer.from("OggS"),
    Buffer.alloc(100_000, 0xff),
    id3,
    theora,
  ])
    await assert.rejects(decodeAudio(file), rejected(/^the file must be WAV, MP3 or Ogg/));
  await assert.rejects(
    decodeAudio(encodeWav(Buffer.alloc(0))),
    rejected(/^the file contains no audio$/),
  );
  const head = files["tone.opus"].subarray(0, 60);
  await assert.rejects(decodeAudio(head), rejected(/^the file contains no audio$/));
});

test("rejects files beyond the limits of size, length and decoding time, without decoding further", async () => {
  const limits = { ...audio_limits, duration_ms_max: 500 };
  for (const name of ["tone.mp3", "tone.opus", "tone.ogg", "tone-alaw.wav"] as const)
    await assert.rejects(
      decodeAudio(files[name], limits),
      rejected(/at most 0.5 seconds long/),
      name,
    );
  const large = Buffer.alloc(50_000_001);
  await assert.rejects(decodeAudio(large), rejected(/^the file must be at most 50 MB$/));
  // Decoding takes seconds; the limit is 1 ms.
  const slow = { ...audio_limits, work_seconds_max: 0.001 };
  const long = wavOf(16_000, 16_000 * 60 * 14);
  await assert.rejects(decodeAudio(long, slow), rejected(/^the file takes too long to decode$/));
});

test("rejects small files that decode to hours as too long", async () => {
  const opus = files["tone.opus"];
  const bombs = {
    // 16 minutes: each kilobyte is half a second.
    wav: wavOf(2_000, 2_000 * 16 * 60),
    opus: Buffer.concat([
      opus.subarray(0, opus.indexOf("OggS", 100)),
      ...silentOpusPages(opus, 60),
    ]),
  };
  for (const [name, bomb] of Object.entries(bombs)) {
    assert.ok(bomb.length < 2_000_000, `${name} is small`);
    await assert.rejects(
      decodeAudio(bomb),
      rejected(/^the audio must be at most 15 minutes long$/),
      name,
    );
  }
});

test("decodes truncated and damaged files as far as possible", async () => {
  for (const [name, file] of Object.entries(files)) {
    const cut = await decodeAudio(file.subarray(0, Math.floor(file.length * 0.95)));
    assert.ok(cut.duration_ms > 0 && cut.duration_ms <= 1_000 + padding_ms, name);
  }
  const broken = Buffer.from(files["tone-stereo.mp3"]);
  broken.fill(0x55, 4_000, 4_300);
  assert.ok((await decodeAudio(broken)).duration_ms > 500);
});

test("any bytes are decoded within the limits or rejected", async () => {
  // The decoders print warnings.
  mock.method(console, "error", () => {});
  mock.method(console, "warn", () => {});
  const duration_ms_max = 3_000;
  const damage = fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255) }), { maxLength: 12 });
  const mangled = fc
    .record({
      file: fc.constantFrom(...Object.values(files)),
      damage,
      keep: fc.nat(),
      twice: fc.boolean(),
    })
    .map(({ file, damage: bytes, keep, twice }) => {
      const copy = Buffer.from(twice ? Buffer.concat([file, file]) : file);
      for (const { at, byte } of bytes) copy[at % (at % 3 === 0 ? copy.length : 200)] = byte;
      return copy.subarray(0, keep % 4 === 0 ? keep % copy.length : copy.length);
    });
  const noise = fc
    .tuple(
      fc.constantFrom(...Object.values(files)),
      fc.nat(400),
      fc.uint8Array({ maxLength: 3_000 }),
    )
    .map(([file, keep, bytes]) => Buffer.concat([file.subarray(0, keep), bytes]));
  await fc.assert(
    fc.asyncProperty(fc.oneof(mangled, noise), async (file) => {
      const kind = sniffAudio(file);
      if (kind === null) return;
      try {
        const samples = await decodeFile(file, kind, duration_ms_max);
        assert.ok(samples.length > 0 && samples.length <= duration_ms_max * bytes_per_ms);
      } catch (error) {
        assert.ok(error instanceof AudioError, String(error));
      }
    }),
    { numRuns: 100 },
  );
});

function wavOf(rate_hz: number, length: number): Buffer {
  const file = encodeWav(Buffer.alloc(length));
  file.writeUInt32LE(rate_hz, 24);
  file.writeUInt16LE(8, 34);
  return file;
}

/** Pages of one-byte packets, each 60 ms of silence. */
function silentOpusPages(file: Buffer, minutes: number): Buffer[] {
  const packets_per_page = 255;
  const first = file.subarray(0, 27);
  return Array.from({ length: Math.ceil((minutes * 1_000) / packets_per_page) }, () => {
    const header = Buffer.from(first);
    header[5] = 0;
    header[26] = packets_per_page;
    const lacing = Buffer.alloc(packets_per_page, 1);
    return Buffer.concat([header, lacing, Buffer.alloc(packets_per_page, 0x18)]);
  });
}
