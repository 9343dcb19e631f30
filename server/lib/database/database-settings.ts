type ReplicaSettings = {
  readonly url: string;
  /** How old what is read from the replica may be. */
  readonly staleness_seconds: number;
};

type Violation = (text: string) => void;

/** Returns the URL of a setting; reports one that is not of a PostgreSQL. The value contains a password and is not echoed. */
export function postgresUrl(name: string, text: string | null, violation: Violation) {
  const isPostgres =
    text !== null && URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
  if (text !== null && !isPostgres)
    violation(`${name}: must have the form postgres://user:password@host:port/database`);
  return text;
}

/** Returns the settings of the replica, which needs a database of its own; null without a URL. */
export function replicaSettings(
  text: string | null,
  staleness_seconds: number,
  database_url: string | null,
  violation: Violation,
): ReplicaSettings | null {
  const url = postgresUrl("DATABASE_READ_URL", text, violation);
  if (url !== null && database_url === null)
    violation("DATABASE_READ_URL: needs DATABASE_URL, the primary of the replica");
  return url === null ? null : { url, staleness_seconds };
}
