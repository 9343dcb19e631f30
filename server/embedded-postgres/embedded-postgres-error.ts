import { statfsSync } from "node:fs";

/**
 * The embedded PostgreSQL is not available. The message explains to the operator what is wrong, with which folder,
 * and how to fix it. It never contains the password.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}

/** The alternative that each of these errors offers. */
export const or_database_url = "or set DATABASE_URL to a PostgreSQL server of your own";

/** What PostgreSQL and initdb print when the disk is full. */
const no_room = /No space left on device|Disk quota exceeded|File too large/;
/** One WAL segment: PostgreSQL cannot continue with less, even if the last write succeeded. */
const room_needed_bytes = 16 * 1024 * 1024;

/**
 * Returns the error for a full disk if `output` mentions one, or if `dir` has less room than one WAL segment
 * (PostgreSQL's own message may not have fitted); otherwise null.
 */
export function fullDiskError(dir: string, output: string): EmbeddedPostgresError | null {
  const free_bytes = freeBytes(dir);
  const said = no_room.exec(output)?.[0];
  if (said === undefined && free_bytes >= room_needed_bytes) return null;
  const free = `${Math.floor(free_bytes / 1024 / 1024)} MB free`;
  return new EmbeddedPostgresError(
    `The disk of ${dir} is full (${said ?? "no room for PostgreSQL's log"}; ${free}). ` +
      `Free at least 100 MB and start again; committed data is safe.`,
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

/** Explains a failed file operation on `dir`; returns any other error as it is. */
export function explainFileError(dir: string, error: unknown): unknown {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  const cause = { cause: error };
  if (syscall?.startsWith("spawn")) {
    return new EmbeddedPostgresError(
      `PostgreSQL's program cannot run: ${message}. It needs glibc (Alpine has none), a folder that is ` +
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
        `${message}. User ${process.getuid?.()} must own ${dir} and be able to write to it: ` +
          `change its owner (chown -R), use another DATA_DIR, ${or_database_url}.`,
        cause,
      );
    case "EROFS":
      return new EmbeddedPostgresError(
        `${dir} is on a read-only file system. Use another DATA_DIR, ${or_database_url}.`,
        cause,
      );
    case "ENOTDIR":
    case "EEXIST":
      return new EmbeddedPostgresError(
        `${message}. A file is in the place of a folder: move it away, or use another DATA_DIR.`,
        cause,
      );
    default:
      return error;
  }
}
