import { createHash } from "node:crypto";
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import type { DB } from "./database-types.ts";
import type { Log } from "../log.ts";

export type { DB } from "./database-types.ts";
/** Inside a transaction: what must commit together with its caller asks for this type. */
export type Tx = Transaction<DB>;

export type Database = {
  /** Everything but the hottest statements. */
  readonly query: Kysely<DB>;
  /** Raw connections: hot statements, COPY and cursors. */
  readonly pool: pg.Pool;
  /** Waits for what runs, then closes every connection. */
  close(): Promise<void>;
};

// Our ids stay below 2^53 (identities of up to 32 Citus workers), so they are numbers in TypeScript.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, readInt8);

function readInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`bigint beyond 2^53: ${text}`);
  return value;
}

/**
 * A pool that outlives restarts of PostgreSQL: a broken connection is logged and replaced at the
 * next use. `statement_timeout` and the wait for a connection are bounded, so nothing hangs.
 */
export function openDatabase(
  url: string,
  log: Log,
  options: { connections?: number; application?: string } = {},
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: options.connections ?? 12,
    application_name: options.application ?? "trunkline",
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
    idle_in_transaction_session_timeout: 60_000,
    // A frozen server must not hold a request for ever.
    query_timeout: 12_000,
    keepAlive: true,
  });
  // Both are needed: an idle client fails on the pool, one in use on itself; unheard, either ends the process.
  const tell = (err: Error, text: string) => {
    // A server that stops right after us may be quicker than a connection's farewell.
    if (!pool.ending) log.warn({ err }, text);
  };
  pool.on("error", (err) => tell(err, "an idle database connection broke"));
  const names = new Map<string, string>();
  pool.on("connect", (client) => {
    client.on("error", (err) => tell(err, "a database connection broke"));
    nameStatements(client, names);
  });
  const query = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  const close = async () => {
    await query.destroy();
    // Kysely leaves a pool alone that it never used.
    if (!pool.ending) await pool.end();
  };
  return { query, pool, close };
}

/** What a statement can run on: the pool or a connection (autocommit), or inside a transaction. */
export type Executor = Pick<pg.ClientBase, "query"> | Kysely<DB>;

/** A fixed statement and the type of its rows, named so that PostgreSQL plans it once a connection. */
export function statement<Row extends pg.QueryResultRow>(text: string) {
  const name = statementName(text);
  return async (executor: Executor, values: unknown[]): Promise<Row[]> => {
    if ("query" in executor) return (await executor.query<Row>({ name, text, values })).rows;
    return (await executor.executeQuery<Row>(CompiledQuery.raw(text, values))).rows;
  };
}

function statementName(text: string): string {
  return createHash("sha1").update(text).digest("base64url");
}

/** Distinct statements that are named; beyond it (generated variety) they are planned each time. */
const named_statements_max = 500;

/**
 * Kysely sends unnamed statements, which PostgreSQL plans each time (0.36 of pg's speed); named
 * by their text they are planned once a connection (0.73).
 */
function nameStatements(client: pg.PoolClient, names: Map<string, string>): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= named_statements_max) return known;
    const name = statementName(text);
    names.set(text, name);
    return name;
  };
  const sendNamed = (query: unknown, values?: unknown, ...rest: unknown[]) => {
    const isPlain = typeof query === "string" && Array.isArray(values) && values.length > 0;
    const name = isPlain ? nameOf(query) : undefined;
    return name
      ? send({ name, text: query, values }, undefined, ...rest)
      : send(query, values, ...rest);
  };
  client.query = sendNamed as typeof client.query;
}
