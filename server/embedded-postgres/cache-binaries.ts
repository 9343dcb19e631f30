import { chmodSync, constants, lstatSync, mkdirSync } from "node:fs";
import { cp, mkdir, mkdtemp, open, readdir, rename, rm, symlink } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { closedFolder } from "../lib/closed-folder.ts";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";
import type { NativePackage } from "./native-package.ts";

/** Files that only compilers need: a third of the size. */
const build_only = new Set(["pkgconfig", "pgxs", "include"]);

/**
 * Returns a folder with a copy of the programs that every user can read and only this one can change, in the
 * first usable one of `parents`. Created once per version under a temporary name and renamed, so that no start
 * sees an incomplete copy. Throws EmbeddedPostgresError.
 */
export async function cacheBinaries(
  native: NativePackage,
  parents: readonly string[],
): Promise<string> {
  const violations: string[] = [];
  for (const parent of parents) {
    try {
      const dir = ownDirectory(parent);
      const copy = join(dir, `${native.version}-${process.platform}-${process.arch}`);
      if (!isPresent(copy)) await makeCopy(native, dir, copy);
      return copy;
    } catch (error) {
      violations.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL's programs cannot be copied to a folder where they can run: ${violations.join("; ")}. ` +
      `Make one of the folders usable, ${or_database_url}.`,
  );
}

/**
 * Returns the private folder in `parent`. Root runs what it contains, so a folder that another user created
 * (anyone can, in /tmp) or can change is refused, and so is a link.
 */
function ownDirectory(parent: string): string {
  mkdirSync(parent, { recursive: true });
  refuseHiddenParent(parent);
  const dir = join(parent, `trunkline-postgres-${process.getuid?.()}`);
  try {
    mkdirSync(dir);
    chmodSync(dir, 0o755); // Regardless of the umask.
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const found = lstatSync(dir);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${dir} is not a folder that only user ${process.getuid?.()} can change`);
  }
  return dir;
}

/** Refuses, as root, a folder that the server's user cannot enter. */
function refuseHiddenParent(parent: string): void {
  const closed = process.getuid?.() === 0 ? closedFolder(parent) : null;
  if (closed !== null) throw new Error(`${closed} is closed to other users`);
}

function isPresent(copy: string): boolean {
  return lstatSync(copy, { throwIfNoEntry: false }) !== undefined;
}

async function makeCopy(native: NativePackage, dir: string, copy: string): Promise<void> {
  const draft = await mkdtemp(join(dir, "draft-"));
  try {
    for (const part of ["bin", "lib", "share"]) {
      await cp(join(native.dir, part), join(draft, part), {
        recursive: true,
        mode: constants.COPYFILE_FICLONE,
        filter: (from) => extname(from) !== ".a" && !build_only.has(from.split("/").at(-1) ?? ""),
        verbatimSymlinks: true,
      });
    }
    for (const { source, target } of native.links) {
      await mkdir(dirname(join(draft, target)), { recursive: true });
      await symlink(source, join(draft, target)).catch(ignoreExisting);
    }
    await publish(draft);
    await rename(draft, copy);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!isPresent(copy)) throw error; // Another start was faster.
  }
}

/** Makes the copy readable to all regardless of the umask, and syncs it before it gets its name. */
async function publish(draft: string): Promise<void> {
  const entries = await readdir(draft, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name));
  await Promise.all([draft, ...paths].map(publishOne));
}

async function publishOne(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    const { mode } = await handle.stat();
    await handle.chmod((mode & constants.S_IXUSR) === 0 ? 0o644 : 0o755);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
