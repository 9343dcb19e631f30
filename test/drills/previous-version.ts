// Unpacks the previous version of the service from the repository's history, for drills that upgrade it.
import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { scratchFolder } from "../support/scratch-folder.ts";

const root = join(import.meta.dirname, "../..");
/** What changes the schema, functions included. */
const schema_files = "migrations/*.sql";

export type PreviousVersion = {
  readonly commit: string;
  readonly dir: string;
  dispose(): Promise<void>;
};

/** Unpacks the newest commit whose schema differs from the working tree's. Throws if the history lacks it. */
export function unpackPreviousVersion(): PreviousVersion {
  const commit = previousCommit();
  const dir = scratchFolder("trunkline-previous-");
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync("tar", ["-x", "-C", dir], { input: archive });
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  return { commit, dir, dispose: () => rm(dir, { recursive: true, force: true }) };
}

function previousCommit(): string {
  const head = git("rev-parse", "HEAD");
  if (git("status", "--porcelain", "--", schema_files) !== "") return head;
  const last = git("log", "-1", "--first-parent", "--format=%H", "--", schema_files);
  try {
    return git("rev-parse", "--verify", "--quiet", `${last}^`);
  } catch (cause) {
    throw new Error(
      `the history ends at ${last || head}, and the drill needs the version before it: run git fetch --unshallow`,
      { cause },
    );
  }
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}
