// Clips as files that Asterisk plays: raw samples (.sln), written once, in a folder that other
// processes may share.
import { randomUUID } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Audio } from "../../../lib/audio/audio.ts";
import { VoiceError } from "../driver.ts";

/** Asterisk's user is another than ours. */
const readable_by_all = 0o644;

export type AudioFolder = {
  /** The clip's path as Asterisk takes it, without the ending, once it is there. Throws VoiceError, and what its `read` throws. */
  keep(audio: Audio): Promise<string>;
};

/** `sounds_dir`: see VoiceNode. */
export function openAudioFolder(sounds_dir: string | null): AudioFolder {
  const writing = new Map<string, Promise<void>>();
  return {
    async keep(audio) {
      if (sounds_dir === null) throw new VoiceError("refused", "the node has no folder of sounds");
      const path = join(sounds_dir, audio.name);
      let written = writing.get(audio.name);
      if (written === undefined) {
        written = writeOnce(`${path}.sln`, audio).finally(() => writing.delete(audio.name));
        writing.set(audio.name, written);
      }
      await written;
      return path;
    },
  };
}

async function writeOnce(path: string, audio: Audio): Promise<void> {
  if (await isThere(path)) return;
  const samples = await audio.read();
  try {
    const draft = `${path}.${randomUUID()}`;
    try {
      await writeWhole(draft, samples);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  } catch (cause) {
    throw new VoiceError("refused", "the clip could not be put where the switch reads", { cause });
  }
}

/** An empty file is what a machine that lost its power may leave of one. */
async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size > 0;
  } catch {
    return false;
  }
}

async function writeWhole(path: string, samples: Buffer): Promise<void> {
  const file = await open(path, "wx", readable_by_all);
  try {
    await file.writeFile(samples);
    // Whatever this process's umask is.
    await file.chmod(readable_by_all);
  } finally {
    await file.close();
  }
}
