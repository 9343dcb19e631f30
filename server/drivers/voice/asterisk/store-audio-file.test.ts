import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Audio } from "../../../lib/audio/audio.ts";
import { openAudioFolder } from "./store-audio-file.ts";

const folder = await mkdtemp(join(tmpdir(), "trunkline-audio-"));
after(() => rm(folder, { recursive: true }));

function audioOf(name: string, owner = "1") {
  const samples = Buffer.alloc(32_000, name);
  let reads = 0;
  const read = async () => {
    reads += 1;
    return samples;
  };
  const audio: Audio = { owner, name: name.repeat(64), duration_ms: 2_000, read };
  return { audio, samples, reads: () => reads };
}

test("a file is written once, completely and readable by all users, however many requests come at once", async () => {
  const { audio, samples, reads } = audioOf("a");
  const umask = process.umask(0o077);
  const here = openAudioFolder(folder);
  const paths = await Promise.all([here.store(audio), here.store(audio), here.store(audio)]);
  process.umask(umask);
  assert.deepEqual(new Set(paths), new Set([join(folder, `1-${audio.name}`)]));
  assert.equal(reads(), 1);
  // Another process finds the file.
  assert.equal(await openAudioFolder(folder).store(audio), paths[0]);
  assert.equal(reads(), 1);
  assert.deepEqual(await readFile(`${paths[0]}.sln`), samples);
  assert.equal((await stat(`${paths[0]}.sln`)).mode & 0o777, 0o644);
  assert.deepEqual(await readdir(folder), [`1-${audio.name}.sln`]);
});

test("concurrent writes by several processes, or an empty file of a failed one, result in a complete file", async () => {
  const { audio, samples } = audioOf("b");
  await writeFile(join(folder, `1-${audio.name}.sln`), "");
  await Promise.all(Array.from({ length: 8 }, () => openAudioFolder(folder).store(audio)));
  assert.deepEqual(await readFile(join(folder, `1-${audio.name}.sln`)), samples);
});

test("audio of two owners is two files, also under one name", async () => {
  const here = openAudioFolder(folder);
  const [first, second] = [audioOf("d", "1"), audioOf("d", "2")];
  const other: Audio = { ...second.audio, read: async () => Buffer.alloc(32_000, "e") };
  const paths = await Promise.all([here.store(first.audio), here.store(other)]);
  assert.deepEqual(await readFile(`${paths[0]}.sln`), first.samples);
  assert.deepEqual(await readFile(`${paths[1]}.sln`), Buffer.alloc(32_000, "e"));
});

test("a failed write is refused, a failed read throws its own error, and no files are left behind", async () => {
  const { audio } = audioOf("c");
  const before = await readdir(folder);
  const unread: Audio = { ...audio, read: () => Promise.reject(new Error("gone")) };
  const refused = { name: "VoiceError", failure: "refused" };
  await assert.rejects(openAudioFolder(folder).store(unread), { name: "Error", message: "gone" });
  await assert.rejects(openAudioFolder(join(folder, "missing")).store(audio), refused);
  await assert.rejects(openAudioFolder(null).store(audio), refused);
  assert.deepEqual(await readdir(folder), before);
  await openAudioFolder(folder).store(audio);
});
