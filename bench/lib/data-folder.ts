import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scratchFolder } from "../../test/support/scratch-folder.ts";

/** A new folder for what a bench keeps: on the disk, which is measured too; `small`, where it costs the least. */
export function dataFolder(small: boolean): string {
  const prefix = "trunkline-bench-";
  return small ? scratchFolder(prefix) : mkdtempSync(join(tmpdir(), prefix));
}
