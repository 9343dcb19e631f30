import { statfsSync } from "node:fs";

/**
 * The embedded PostgreSQL cannot be had. The message is written for whoever runs the program: what
 * is wrong, with which folder, and what to do about it. It never holds the password.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}

/** The way out that every one of these errors has. */
export const or_database_url = "or set DATABASE_URL to a PostgreSQL server of your own";

/** What PostgreSQL and initdb print when a write is refused for want of room. */
const no_room = /No space left on device|Disk quota exceeded|File too large/;
/** One WAL segment: with less, PostgreSQL cannot go on even where the last write still fitted. */
const room_needed_bytes = 16 * 1024 * 1024;

/**
 * The error for a full disk when `output` says so, or when `dir` has less room than one segment
 * of the log takes (PostgreSQL's own words may not have fitted either); otherwise null.
 */
export function fullDiskError(dir: string, output: string): EmbeddedPostgresError | null {
  const free_bytes = freeBytes(dir);
  const said = no_room.exec(output)?.[0];
  if (said === undefined && free_bytes >= room_needed_bytes) return null;
  const free = `${Math.floor(free_bytes / 1024 / 1024)} MB free`;
  return new EmbeddedPostgresError(
    `The disk of ${dir} is full (${said ?? "no room for PostgreSQL's log"}; ${free}). ` +
      `Make room (100 MB at least) and start again; what was committed is safe.`,
  );
}

function freeBytes(dir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Says what a refused file operation means for `dir`; every other error is returned as it is. */
export function explainFileError(dir: string, error: unknown): unknown {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  const cause = { cause: error };
  if (syscall?.startsWith("spawn")) {
    return new EmbeddedPostgresError(
      `PostgreSQL's program cannot be run: ${message}. It needs glibc (Alpine has none), a folder ` +
        `not mounted noexec and, as root, the right to become another user; ${or_database_url}.`,
      cause,
    );
  }
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return fullDiskError(dir, "No space left on device");
    case "EACCES":
    case "EPERM":
      return new EmbeddedPostgresError(
        `${message}. User ${process.getuid?.()} must own ${dir} and be able to write there: ` +
          `change its owner (chown -R), choose another DATA_DIR, ${or_database_url}.`,
        cause,
      );
    case "EROFS":
      return new EmbeddedPostgresError(
        `${dir} is on a read-only file system. Choose another DATA_DIR, ${or_database_url}.`,
        cause,
      );
    case "ENOTDIR":
    case "EEXIST":
      return new EmbeddedPostgresError(
        `${message}. A file stands where a folder is needed: move it away, or choose another DATA_DIR.`,
        cause,
      );
    default:
      return error;
  }
}
