// Classifies database errors by SQLSTATE or socket error code.

/** Reports whether the server is unreachable, restarting, full or too slow: the request can be repeated later. */
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
  return /connection terminated|^timeout expired$|timeout exceeded when trying to connect|query read timeout|not queryable|connection error/i.test(
    error.message,
  );
}

const unavailable_codes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN", // The name server does not answer yet.
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "ENOENT", // A Unix socket that does not exist yet.
  "57014", // Our statement_timeout.
  "55P03", // Our lock_timeout.
  "40P01", // Deadlock: the victim may retry.
]);

/**
 * Reports whether a single statement failed, by time-out, lock wait or deadlock; an unreachable database fails
 * all statements.
 */
export function isOfOneStatement(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "57014" || code === "55P03" || code === "40P01";
}

/** Reports whether `error` is a violation of that unique constraint or index. */
export function violatesUnique(error: unknown, constraint: string): boolean {
  const { code, constraint: violated } = error as { code?: unknown; constraint?: unknown };
  return code === "23505" && violated === constraint;
}

/** Reports whether `error` is a violation of that foreign key. */
export function violatesForeignKey(error: unknown, constraint: string): boolean {
  const { code, constraint: violated } = error as { code?: unknown; constraint?: unknown };
  return code === "23503" && violated === constraint;
}
