import { constants, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Returns the first folder, from `path` up to `/`, that other users may not enter; null when there is none. */
export function closedFolder(path: string): string | null {
  for (let dir = resolve(path); ; dir = dirname(dir)) {
    if ((statSync(dir).mode & constants.S_IXOTH) === 0) return dir;
    if (dir === dirname(dir)) return null;
  }
}
