// What an error of the database means to us, told from its SQLSTATE or the socket's error code.

/** The server cannot be reached, is restarting, is full, or did not answer in time: try again later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string") {
    return (
      code.startsWith("08") ||
      code.startsWith("57P") ||
      code.startsWith("53") ||
      unavailable_codes.has(code)
    );
  }
  return /connection terminated|timeout exceeded when trying to connect|query read timeout|not queryable|connection error/i.test(
    error.message,
  );
}

const unavailable_codes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "ETIMEDOUT",
  "ENOENT", // A Unix socket that is not there yet.
  "57014", // Our statement_timeout.
  "55P03", // Our lock_timeout.
  "40P01", // Deadlock: the loser may come again.
]);

/**
 * A statement that took too long, waited too long for a lock, or lost to another in a deadlock: it fails
 * alone, where a database that is away fails them all.
 */
export function isOfOneStatement(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "57014" || code === "55P03" || code === "40P01";
}

/** Whether `error` is a violation of that unique constraint or index. */
export function violatesUnique(error: unknown, constraint: string): boolean {
  const { code, constraint: violated } = error as { code?: unknown; constraint?: unknown };
  return code === "23505" && violated === constraint;
}

/** Whether `error` is a violation of that foreign key. */
export function violatesForeignKey(error: unknown, constraint: string): boolean {
  const { code, constraint: violated } = error as { code?: unknown; constraint?: unknown };
  return code === "23503" && violated === constraint;
}
