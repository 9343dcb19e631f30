import { existsSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { cacheBinaries } from "./cache-binaries.ts";
import { nativePackage } from "./native-package.ts";

/** PostgreSQL's programs, executable by the server's user. */
export type Binaries = {
  readonly initdb: string;
  readonly postgres: string;
  /** Major version as in PG_VERSION, such as "18". */
  readonly major: string;
};

/**
 * Returns the programs of the platform's optional package: from node_modules, or from a copy if they run
 * `as_root` (as another user, who may not have access) or if their library links are missing. Throws
 * EmbeddedPostgresError if the package is not installed.
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
