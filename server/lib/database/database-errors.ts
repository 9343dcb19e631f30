// Classifies database errors by SQLSTATE or socket error code.

/** Reports whether the server is unreachable, restarting, full or too slow: the request can be repeated later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string") {
    // Citus repeats libpq's words about a lost worker as an internal error (ReportResultError in remote_commands.c).
    if (code === "XX000") return lost_worker.test(error.message);
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

const lost_worker =
  /^(?:server closed the connection unexpectedly|no connection to the server|could not (?:receive|send) data)/;

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
  return violates(error, "23505", constraint);
}

/** Reports whether `error` is a violation of that foreign key. */
export function violatesForeignKey(error: unknown, constraint: string): boolean {
  return violates(error, "23503", constraint);
}

/** Without a name, the caller's first constraint of this kind counts as violated. */
function violates(error: unknown, sqlstate: string, constraint: string): boolean {
  const { code, constraint: violated } = error as { code?: unknown; constraint?: unknown };
  if (code !== sqlstate) return false;
  return typeof violated !== "string" || isConstraintOfShard(violated, constraint);
}

/** PostgreSQL's limit of a name. */
const name_bytes_max = 63;

/**
 * Reports whether the name is the constraint's, or that of its copy on one of Citus' shards: with the shard's number
 * (`users_email_key_102008`), and shortened and with a hash before that if it would be longer than PostgreSQL allows.
 */
function isConstraintOfShard(name: string, constraint: string): boolean {
  if (name === constraint) return true;
  const [, base, shard] = /^(.+)(_[0-9]+)$/.exec(name) ?? [];
  if (base === undefined || shard === undefined) return false;
  if (base === constraint) return true;
  const [, shortened] = /^(.+)_[0-9a-f]{8}$/.exec(base) ?? [];
  if (shortened === undefined || constraint.length + shard.length <= name_bytes_max) return false;
  return constraint.startsWith(shortened) && name.length === name_bytes_max;
}
