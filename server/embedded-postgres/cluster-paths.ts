import { mkdirSync, statSync, type Stats } from "node:fs";
import { join, resolve } from "node:path";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";

/** The paths of a server and the user it runs as; paths are absolute. */
export type ClusterPaths = {
  readonly data_dir: string;
  /** PostgreSQL's own folder, `postgres` in `data_dir`. */
  readonly cluster_dir: string;
  readonly log_file: string;
  /** The superuser's password, readable only by the user of this process. */
  readonly password_file: string;
  /** The port of the last start, so that the address survives restarts. */
  readonly port_file: string;
  /** The user the server runs as if this process is root; null: this process's user. */
  readonly account: { readonly uid: number; readonly gid: number } | null;
};

/** The user `nobody` on every known distribution: PostgreSQL refuses to run as root. */
const nobody = 65_534;

/** Returns the paths of the server in `data_dir` and touches nothing. */
export function clusterPathsIn(data_dir: string): ClusterPaths {
  const dir = resolve(data_dir);
  return {
    data_dir: dir,
    cluster_dir: join(dir, "postgres"),
    log_file: join(dir, "postgres.log"),
    password_file: join(dir, "postgres-password"),
    port_file: join(dir, "postgres-port"),
    account: process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : null,
  };
}

/**
 * Creates `data_dir` if it is missing, and returns its paths. Throws EmbeddedPostgresError if an existing
 * cluster belongs to a different user than the server would run as.
 */
export function prepareClusterFolder(data_dir: string): ClusterPaths {
  const paths = clusterPathsIn(data_dir);
  if (paths.account !== null && process.platform !== "linux") {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root. Start Trunkline as an ordinary user, ${or_database_url}.`,
    );
  }
  mkdirSync(paths.data_dir, { recursive: true });
  refuseOtherOwner(paths);
  return paths;
}

function refuseOtherOwner(paths: ClusterPaths): void {
  const found = folder(paths);
  const uid = serverUid(paths);
  if (found === null || found.uid === uid) return;
  const as = paths.account ? `user ${uid} (nobody), because this process is root` : `user ${uid}`;
  throw new EmbeddedPostgresError(
    `${paths.cluster_dir} belongs to user ${found.uid}, but PostgreSQL would run as ${as}. ` +
      `Start Trunkline as the user that created the folder, change its owner ` +
      `(chown -R ${uid} ${paths.cluster_dir}) while nothing runs in it, or use another DATA_DIR.`,
  );
}

/** Returns the user that the server runs as. */
export function serverUid(paths: ClusterPaths): number {
  return paths.account?.uid ?? process.getuid?.() ?? -1;
}

/** Returns the current state of PostgreSQL's folder, or null if it does not exist. */
export function folder(paths: ClusterPaths): Stats | null {
  return statSync(paths.cluster_dir, { throwIfNoEntry: false }) ?? null;
}

/**
 * Returns a name that identifies the processes of this folder: it is on the server's command line and in its
 * children's titles. A copied folder gets another name; a moved one keeps its name.
 */
export function serverName(paths: ClusterPaths): string {
  const { dev, ino } = statSync(paths.cluster_dir);
  return `trunkline-${dev.toString(36)}-${ino.toString(36)}`;
}
