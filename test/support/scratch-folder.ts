// Folders for databases of tests. A database is a thousand small files: on many disks making them
// takes ten times as long as in memory.
import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
const room_bytes = 4 * 2 ** 30;

/** A new folder, in memory where this machine has room for it there; remove it after use. */
export function scratchFolder(prefix: string): string {
  return mkdtempSync(join(hasRoom() ? memory : tmpdir(), prefix));
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= room_bytes;
  } catch {
    // Only Linux has it.
    return false;
  }
}
