import pg from "pg";

/** Enough to meet a backend again although other clients of a pooler use it meanwhile. */
const rounds = 5;

/** The database is behind a pooler that Trunkline cannot use. */
export class PoolerError extends Error {
  override readonly name = "PoolerError";
}

/**
 * Throws PoolerError if a pooler lets connections share a backend: settings, prepared statements, LISTEN and the lock for
 * migrations belong to a session.
 */
export async function requireSessions(url: string): Promise<void> {
  const clients = [openClient(url), openClient(url)] as const;
  const seen = [new Set<number>(), new Set<number>()] as const;
  try {
    for (const client of clients) await client.connect();
    for (let round = 0; round < rounds; round++)
      for (const [i, client] of clients.entries()) seen[i]!.add(await pidOf(client));
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
  if (!Array.from(seen[0]).some((pid) => seen[1].has(pid))) return;
  throw new PoolerError(
    "the database's pooler shares its connections between clients (pool_mode = transaction or statement); " +
      "use pool_mode = session, or connect directly",
  );
}

function openClient(connectionString: string): pg.Client {
  const client = new pg.Client({
    connectionString,
    application_name: "trunkline-sessions",
    connectionTimeoutMillis: 5_000,
  });
  client.on("error", () => {}); // The running query reports it.
  return client;
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}
