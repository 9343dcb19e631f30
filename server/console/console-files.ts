import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** The root of the installation: the folder of package.json. */
export const install_dir = join(import.meta.dirname, "..", "..");
/** The file of a finished build that holds the hash of its sources. */
export const hash_file = "sources.sha256";

/** Returns the hash of everything that a build of the console depends on: its sources and the locked packages. */
export async function hashConsoleSources(): Promise<string> {
  const sources = join(install_dir, "console");
  const entries = await readdir(sources, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/^(?:node_modules|dist)\//.test(relative(sources, file)))
    .toSorted();
  const hash = createHash("sha256");
  for (const file of [join(install_dir, "package-lock.json"), ...files]) {
    const content = await readFile(file);
    hash.update(`${relative(install_dir, file)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/** Whether `dir` holds a finished build of the sources with this hash. */
export async function isBuildOf(hash: string, dir: string): Promise<boolean> {
  const found = await readFile(join(dir, hash_file), "utf8").catch(() => null);
  return found?.trim() === hash;
}
