import { existsSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { cacheBinaries } from "./cache-binaries.ts";
import { nativePackage } from "./native-package.ts";

/** PostgreSQL's programs, ready to be run by the server's user. */
export type Binaries = {
  readonly initdb: string;
  readonly postgres: string;
  /** As PG_VERSION has it, such as "18". */
  readonly major: string;
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
