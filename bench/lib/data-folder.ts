import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scratchFolder } from "../../test/support/scratch-folder.ts";

/** Creates a folder for a benchmark's data: on disk, which is measured too, or if `small`, in memory if possible. */
export function dataFolder(small: boolean): string {
  const prefix = "trunkline-bench-";
  return small ? scratchFolder(prefix) : mkdtempSync(join(tmpdir(), prefix));
}
