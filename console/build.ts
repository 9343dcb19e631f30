// Builds the console into a folder: `node build.ts <folder>`. The folder appears complete or not at all.
import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";
import { hash_file, hashConsoleSources } from "../server/lib/installation/builds.ts";

const target = resolve(process.argv[2] ?? join(import.meta.dirname, "dist"));
const unfinished = `${target}.${randomUUID()}`;
// Before the build, so that a file changed meanwhile causes another one.
const hash = hashConsoleSources();
try {
  await build({
    root: import.meta.dirname,
    logLevel: "warn",
    build: { outDir: unfinished, emptyOutDir: true },
  });
  await compressFiles(unfinished);
  await writeFile(join(unfinished, hash_file), `${hash}\n`);
  await rm(target, { recursive: true, force: true });
  await rename(unfinished, target);
} finally {
  await rm(unfinished, { recursive: true, force: true });
}

/** Writes a `.br` and a `.gz` beside each file that shrinks, so that no request compresses anything. */
async function compressFiles(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/\.(?:png|woff2)$/.test(entry.name));
  await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      const content = await readFile(path);
      const br = await promisify(brotliCompress)(content, {
        params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
      });
      await writeFile(`${path}.br`, br);
      await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
    }),
  );
}
