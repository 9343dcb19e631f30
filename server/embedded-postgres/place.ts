import { mkdirSync, statSync, type Stats } from "node:fs";
import { join, resolve } from "node:path";
import { EmbeddedPostgresError, or_database_url } from "./embedded-postgres-error.ts";

/** Where a server lives and as whom it runs; paths are absolute. */
export type Place = {
  readonly data_dir: string;
  /** PostgreSQL's own folder, `postgres` in `data_dir`. */
  readonly cluster_dir: string;
  readonly log_file: string;
  /** The superuser's password, readable only by the user of this process. */
  readonly password_file: string;
  /** The port of the last start, so that the address stays the same over restarts. */
  readonly port_file: string;
  /** Whom the server runs as when this process is root; null: as the user of this process. */
  readonly account: { readonly uid: number; readonly gid: number } | null;
};

/** `nobody` of every distribution we know: PostgreSQL refuses to run as root. */
const nobody = 65_534;

/** Names the files of the server in `data_dir`; touches nothing. */
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
 * The place in `data_dir`, which is made when missing. Throws EmbeddedPostgresError when a cluster
 * is there that belongs to another user than the one the server would run as.
 */
export function preparePlace(data_dir: string): Place {
  const place = placeIn(data_dir);
  if (place.account !== null && process.platform !== "linux") {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root. Start this program as an ordinary user, ${or_database_url}.`,
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
      `Start this program as the user that made the folder, give it away ` +
      `(chown -R ${uid} ${place.cluster_dir}) while nothing runs in it, or choose another DATA_DIR.`,
  );
}

/** The user that the server runs as. */
export function serverUid(place: Place): number {
  return place.account?.uid ?? process.getuid?.() ?? -1;
}

/** PostgreSQL's folder as it is now, or null when there is none. */
export function folder(place: Place): Stats | null {
  return statSync(place.cluster_dir, { throwIfNoEntry: false }) ?? null;
}

/**
 * A name by which the processes of this very folder are known: it is on the command line of the
 * server and in the titles of its children. A copy of the folder gets another, a moved one keeps it.
 */
export function serverName(place: Place): string {
  const { dev, ino } = statSync(place.cluster_dir);
  return `trunkline-${dev.toString(36)}-${ino.toString(36)}`;
}
