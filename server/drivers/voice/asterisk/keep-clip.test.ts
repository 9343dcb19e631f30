import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Clip } from "../../../lib/audio/audio.ts";
import { openClipFolder } from "./keep-clip.ts";

const folder = await mkdtemp(join(tmpdir(), "trunkline-clips-"));
after(() => rm(folder, { recursive: true }));

function clipOf(name: string) {
  const samples = Buffer.alloc(32_000, name);
  let reads = 0;
  const read = async () => {
    reads += 1;
    return samples;
  };
  const clip: Clip = { name: name.repeat(64), duration_ms: 2_000, read };
  return { clip, samples, reads: () => reads };
}

test("a clip is written once, whole and for everybody to read, however many want it at once", async () => {
  const { clip, samples, reads } = clipOf("a");
  const umask = process.umask(0o077);
  const here = openClipFolder(folder);
  const paths = await Promise.all([here.keep(clip), here.keep(clip), here.keep(clip)]);
  process.umask(umask);
  assert.deepEqual(new Set(paths), new Set([join(folder, clip.name)]));
  assert.equal(reads(), 1);
  // Another process finds it there.
  assert.equal(await openClipFolder(folder).keep(clip), paths[0]);
  assert.equal(reads(), 1);
  assert.deepEqual(await readFile(`${paths[0]}.sln`), samples);
  assert.equal((await stat(`${paths[0]}.sln`)).mode & 0o777, 0o644);
  assert.deepEqual(await readdir(folder), [`${clip.name}.sln`]);
});

test("processes that write one clip at once, and one that died while it wrote, do no harm", async () => {
  const { clip, samples } = clipOf("b");
  await writeFile(join(folder, `${clip.name}.sln`), "");
  await Promise.all(Array.from({ length: 8 }, () => openClipFolder(folder).keep(clip)));
  assert.deepEqual(await readFile(join(folder, `${clip.name}.sln`)), samples);
});

test("what cannot be written is refused, what cannot be read fails as its reader says, and nothing is left behind", async () => {
  const { clip } = clipOf("c");
  const before = await readdir(folder);
  const unread: Clip = { ...clip, read: () => Promise.reject(new Error("gone")) };
  const refused = { name: "VoiceError", failure: "refused" };
  await assert.rejects(openClipFolder(folder).keep(unread), { name: "Error", message: "gone" });
  await assert.rejects(openClipFolder(join(folder, "nowhere")).keep(clip), refused);
  await assert.rejects(openClipFolder(null).keep(clip), refused);
  assert.deepEqual(await readdir(folder), before);
  await openClipFolder(folder).keep(clip);
});
