// Audio as files that Asterisk plays: raw samples (.sln), written once, in a folder that other processes
// may share.
import { randomUUID } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Audio } from "../../../lib/audio/audio.ts";
import { VoiceError } from "../driver.ts";

/** Asterisk runs as another user. */
const readable_by_all = 0o644;

export type AudioFolder = {
  /**
   * Writes the file unless it exists and returns its path without the extension, as Asterisk expects it.
   * Throws VoiceError, and what `audio.read` throws.
   */
  store(audio: Audio): Promise<string>;
};

/** `sounds_dir`: see VoiceNode. */
export function openAudioFolder(sounds_dir: string | null): AudioFolder {
  const writing = new Map<string, Promise<void>>();
  return {
    async store(audio) {
      if (sounds_dir === null) throw new VoiceError("refused", "the node has no `sounds_dir`");
      // By owner, because accounts share the folder.
      const path = join(sounds_dir, `${audio.owner}-${audio.name}`);
      let written = writing.get(path);
      if (written === undefined) {
        written = writeOnce(`${path}.sln`, audio).finally(() => writing.delete(path));
        writing.set(path, written);
      }
      await written;
      return path;
    },
  };
}

async function writeOnce(path: string, audio: Audio): Promise<void> {
  if (await exists(path)) return;
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
    throw new VoiceError("refused", "could not write the audio file to `sounds_dir`", { cause });
  }
}

/** Returns whether the file exists; an empty one, a result of a power failure, does not count. */
async function exists(path: string): Promise<boolean> {
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
    // `open` applies the umask of this process.
    await file.chmod(readable_by_all);
  } finally {
    await file.close();
  }
}
