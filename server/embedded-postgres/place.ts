import { mkdirSync, statSync, type Stats } from "node:fs";
import { join, resolve } from "node:path";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";

/** The paths of a server and the user it runs as; paths are absolute. */
export type Place = {
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
export function placeIn(data_dir: string): Place {
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
 * Returns the place in `data_dir`, which is created if missing. Throws EmbeddedPostgresError if an existing
 * cluster belongs to a different user than the server would run as.
 */
export function preparePlace(data_dir: string): Place {
  const place = placeIn(data_dir);
  if (place.account !== null && process.platform !== "linux") {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root. Start Trunkline as an ordinary user, ${or_database_url}.`,
    );
  }
  mkdirSync(place.data_dir, { recursive: true });
  refuseOtherOwner(place);
  return place;
}

function refuseOtherOwner(place: Place): void {
  const found = folder(place);
  const uid = serverUid(place);
  if (found === null || found.uid === uid) return;
  const as = place.account ? `user ${uid} (nobody), because this process is root` : `user ${uid}`;
  throw new EmbeddedPostgresError(
    `${place.cluster_dir} belongs to user ${found.uid}, but PostgreSQL would run as ${as}. ` +
      `Start Trunkline as the user that created the folder, change its owner ` +
      `(chown -R ${uid} ${place.cluster_dir}) while nothing runs in it, or use another DATA_DIR.`,
  );
}

/** Returns the user that the server runs as. */
export function serverUid(place: Place): number {
  return place.account?.uid ?? process.getuid?.() ?? -1;
}

/** Returns the current state of PostgreSQL's folder, or null if it does not exist. */
export function folder(place: Place): Stats | null {
  return statSync(place.cluster_dir, { throwIfNoEntry: false }) ?? null;
}

/**
 * Returns a name that identifies the processes of this folder: it is on the server's command line and in its
 * children's titles. A copied folder gets another name; a moved one keeps its name.
 */
export function serverName(place: Place): string {
  const { dev, ino } = statSync(place.cluster_dir);
  return `trunkline-${dev.toString(36)}-${ino.toString(36)}`;
}
