// Folders for test databases. A database has a thousand small files, which on many disks take ten times
// as long to create as in memory.
import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
const room_bytes = 4 * 2 ** 30;

/** Creates a folder, in memory if there is room; remove it after use. */
export function scratchFolder(prefix: string): string {
  return mkdtempSync(join(hasRoom() ? memory : tmpdir(), prefix));
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= room_bytes;
  } catch {
    // Only Linux has this folder.
    return false;
  }
}
