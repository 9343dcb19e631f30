import { chmodSync, constants, lstatSync, mkdirSync } from "node:fs";
import { cp, mkdir, mkdtemp, open, readdir, rename, rm, symlink } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { closedFolder } from "../lib/closed-folder.ts";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";
import type { NativePackage } from "./native-package.ts";

/** What only compilers need; a third of the size. */
const build_only = new Set(["pkgconfig", "pgxs", "include"]);

/**
 * The folder of a copy of the programs that every user may read and only this one may change, in
 * the first of `parents` where that is possible. Made once per version: under a name of its own,
 * then renamed, so that no start ever sees half a copy. Throws EmbeddedPostgresError.
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
    `PostgreSQL's programs cannot be copied to a place where they can be run: ${violations.join("; ")}. ` +
      `Make one of them usable, ${or_database_url}.`,
  );
}

/**
 * Root runs what lies there, so a folder that somebody else made (anybody can, in /tmp) or may
 * change is refused, and so is a link to one.
 */
function ownDirectory(parent: string): string {
  mkdirSync(parent, { recursive: true });
  refuseHiddenParent(parent);
  const dir = join(parent, `trunkline-postgres-${process.getuid?.()}`);
  try {
    mkdirSync(dir);
    chmodSync(dir, 0o755); // Whatever the umask.
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const found = lstatSync(dir);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${dir} is not a folder that only user ${process.getuid?.()} can change`);
  }
  return dir;
}

/** As root, the server's user must be able to get there. */
function refuseHiddenParent(parent: string): void {
  const closed = process.getuid?.() === 0 ? closedFolder(parent) : null;
  if (closed !== null) throw new Error(`${closed} is closed to others`);
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
    if (!isPresent(copy)) throw error; // Otherwise another start was quicker.
  }
}

/** Readable to all whatever the umask, and on the disk before the name is: a power cut leaves no husks. */
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
