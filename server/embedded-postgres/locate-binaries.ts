import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { cacheBinaries } from "./cache-binaries.ts";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";

/** PostgreSQL's programs, ready to be run by the server's user. */
export type Binaries = {
  readonly initdb: string;
  readonly postgres: string;
  /** As PG_VERSION has it, such as "18". */
  readonly major: string;
};

/** What the package of this platform brings along. */
export type NativePackage = {
  /** The folder with bin, lib and share. */
  readonly dir: string;
  readonly version: string;
  /** Library names to link to their versioned files; npm packages cannot hold links. */
  readonly links: readonly { readonly source: string; readonly target: string }[];
};

/**
 * The programs of the optional package for this platform: as they lie in node_modules, or, where
 * `as_root` (another user runs them and node_modules may be out of its reach) or where their
 * library links are missing, from a copy. Throws EmbeddedPostgresError where there is no package.
 */
export async function locateBinaries(as_root: boolean): Promise<Binaries> {
  const native = nativePackage(`${process.platform}-${process.arch}`);
  const in_place =
    !as_root && native.links.every(({ target }) => existsSync(join(native.dir, target)));
  const parents = as_root ? ["/var/cache", tmpdir()] : [join(homedir(), ".cache"), tmpdir()];
  const dir = in_place ? native.dir : await cacheBinaries(native, parents);
  return {
    initdb: join(dir, "bin/initdb"),
    postgres: join(dir, "bin/postgres"),
    major: /^\d+/.exec(native.version)?.[0] ?? native.version,
  };
}

/** Finds `@embedded-postgres/<platform>`; throws EmbeddedPostgresError when it is not installed. */
export function nativePackage(platform: string): NativePackage {
  const name = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${platform}: the optional package ${name} is not installed. ` +
        `Run npm ci without --omit=optional where the package exists, ${or_database_url}.`,
      { cause: error },
    );
  }
  const root = dirname(dirname(entry));
  const { version } = readJson(join(root, "package.json")) as { version: string };
  const listed = readJson(join(root, "native/pg-symlinks.json")) as NativePackage["links"];
  const links = listed.map(({ source, target }) => ({
    source: posix.relative(posix.dirname(target), source),
    target: posix.relative("native", target),
  }));
  return { dir: join(root, "native"), version, links };
}

function readJson(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
}
