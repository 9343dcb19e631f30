// Bundles the server into a folder, `dist/server` by default: `node build-server.ts [folder]`. A start then loads a few files
// instead of a thousand, and removes no types. The folder appears complete or not at all.
import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { hash_file, hashServerSources } from "../server/lib/installation/builds.ts";
import { install_dir } from "../server/lib/installation/install-dir.ts";

/** Packages of hundreds of small modules that read no files. The others stay in node_modules. */
const bundled_packages = /^(?:kysely|typebox)(?:$|\/)/;

const target = resolve(process.argv[2] ?? join(install_dir, "dist/server"));
const unfinished = `${target}.${randomUUID()}`;
// Before the build, so that a file changed meanwhile makes it outdated.
const hash = hashServerSources();
try {
  await using bundle = await rolldown({
    cwd: install_dir,
    input: "server/start.ts",
    platform: "node",
    external: (id) => /^[@\w]/.test(id) && !bundled_packages.test(id),
    plugins: [filesBesideModules()],
  });
  await bundle.write({ dir: unfinished, format: "esm" });
  await writeFile(join(unfinished, hash_file), `${hash}\n`);
  await rm(target, { recursive: true, force: true });
  await rename(unfinished, target);
} finally {
  await rm(unfinished, { recursive: true, force: true });
}

/** Adds what modules name by `new URL("file", import.meta.url)`: threads become further bundles, data is copied. */
function filesBesideModules(): Plugin {
  const named = /new URL\("([^":]+)", import\.meta\.url\)/g;
  return {
    name: "files-beside-modules",
    async transform(code, id) {
      let result = code;
      for (const [expression, file] of code.matchAll(named)) {
        const path = join(dirname(id), file!);
        const reference = file!.endsWith(".ts")
          ? this.emitFile({ type: "chunk", id: path })
          : this.emitFile({ type: "asset", name: basename(path), source: await readFile(path) });
        result = result.replace(expression, `new URL(import.meta.ROLLUP_FILE_URL_${reference})`);
      }
      return result === code ? null : { code: result };
    },
  };
}
