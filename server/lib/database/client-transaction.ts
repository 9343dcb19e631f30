// A transaction with its raw connection, for COPY together with ordinary statements.
import { Kysely, PostgresDialect, sql } from "kysely";
import type pg from "pg";
import type { DB, Database, Tx } from "./database.ts";

/**
 * Runs `work` in one transaction and commits it; rolls back if it throws. Each statement may take
 * `statement_seconds`, longer than the pool allows, because a COPY lasts as long as its data.
 */
export async function clientTransaction<Answer>(
  db: Database,
  statement_seconds: number,
  work: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
): Promise<Answer> {
  const client = await db.pool.connect();
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const query_timeout = (statement_seconds + 2) * 1_000;
  const lent = {
    // A query with its own timeout: the pool's would give up after seconds.
    query: (text: unknown, ...rest: unknown[]) =>
      typeof text === "string"
        ? send({ text, values: rest[0], query_timeout })
        : send(text, ...rest),
    release: () => {},
  };
  const dialect = new PostgresDialect({
    pool: { connect: async () => lent, end: async () => {} } as never,
  });
  let broken = true;
  try {
    const answer = await new Kysely<DB>({ dialect }).transaction().execute(async (tx) => {
      // Takes no snapshot, so that `work` may choose the isolation level.
      await sql`set local statement_timeout = ${sql.lit(`${statement_seconds}s`)}`.execute(tx);
      return work(tx, client);
    });
    broken = false;
    return answer;
  } finally {
    // The state of a failed connection is not worth examining.
    client.release(broken);
  }
}
