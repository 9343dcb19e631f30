import { createHash } from "node:crypto";
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import type { DB } from "./database-types.ts";
import { isDistributed } from "./distributed-functions.ts";
import type { Log } from "../log.ts";
import { currentTracing } from "../tracing/tracing.ts";
import { keepSpansOfWaiters, traceStatements } from "./trace-statements.ts";

export type { DB } from "./database-types.ts";
/** A transaction; the parameter type of everything that must commit with its caller. */
export type Tx = Transaction<DB>;

export type Database = {
  /** For everything but the hottest statements. */
  readonly query: Kysely<DB>;
  /** Raw connections for hot statements, COPY and cursors. */
  readonly pool: pg.Pool;
  /** Whether `trunkline distribute` has distributed it; asked once. */
  isDistributed(): Promise<boolean>;
  /** Waits for running statements, then closes every connection. */
  close(): Promise<void>;
};

// IDs stay below 2^53 (docs/decisions/2026-11-25-ids-on-a-distributed-database.md), so they are numbers in TypeScript.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, readInt8);

function readInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`bigint beyond 2^53: ${text}`);
  return value;
}

/**
 * A pooler refuses these as parameters of a connection, or ignores them. Without jit, because compiling takes longer than
 * our statements do.
 */
const session_settings =
  "set statement_timeout = '10s'; set idle_in_transaction_session_timeout = '60s'; set jit = off";

/**
 * Opens a pool that survives restarts of PostgreSQL: a broken connection is logged and replaced on next use.
 * `statement_timeout` and the wait for a connection are bounded, so nothing hangs. Traces statements if tracing is on.
 */
export function openDatabase(
  url: string,
  log: Log,
  options: {
    connections?: number;
    application?: string;
    /** Runs on each new connection before its first use; an error refuses the connection. */
    check?: (client: pg.ClientBase) => Promise<void>;
  } = {},
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: options.connections ?? 12,
    application_name: options.application ?? "trunkline",
    connectionTimeoutMillis: 5_000,
    onConnect: (client) => prepareConnection(client, options.check) as unknown as void,
    // A frozen server must not hold a request indefinitely.
    query_timeout: 12_000,
    keepAlive: true,
  });
  // Idle clients emit errors on the pool, those in use on themselves; either ends the process if unhandled.
  const logError = (err: Error, text: string) => {
    // A server that stops at the same time may close a connection first.
    if (!pool.ending) log.warn({ err }, text);
  };
  pool.on("error", (err) => logError(err, "idle database connection lost"));
  const names = new Map<string, string>();
  pool.on("connect", (client) => {
    client.on("error", (err) => logError(err, "database connection lost"));
    nameStatements(client, names);
    closeOnTimeout(client);
    if (currentTracing()) traceStatements(client);
  });
  if (currentTracing()) keepSpansOfWaiters(pool);
  const query = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  const close = async () => {
    await query.destroy();
    // Kysely does not end a pool that it never used.
    if (!pool.ending) await pool.end();
  };
  let distributed: boolean | undefined;
  const askDistributed = async () => (distributed ??= await isDistributed(pool));
  return { query, pool, isDistributed: askDistributed, close };
}

async function prepareConnection(
  client: pg.ClientBase,
  check?: (client: pg.ClientBase) => Promise<void>,
): Promise<void> {
  await client.query(session_settings);
  await check?.(client);
}

/** Something that runs statements: the pool or a connection (autocommit), or a transaction. */
export type Executor = Pick<pg.ClientBase, "query"> | Kysely<DB>;

/** Returns a fixed statement with the type of its rows, named so that PostgreSQL plans it once per connection. */
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

/** Limit of named statements; generated variants beyond it are planned each time. */
const named_statements_max = 500;

/**
 * A page of a list is planned for its values. A plan for any value assumes that a limit returns a tenth of the rows
 * and that all accounts are alike, and reads a whole account.
 */
const page_limit = /\blimit \$\d/;

/**
 * Names Kysely's statements by their text, so that they are planned once per connection (0.73 of pg's speed);
 * unnamed ones are planned each time (0.36).
 */
function nameStatements(client: pg.PoolClient, names: Map<string, string>): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= named_statements_max) return known;
    if (page_limit.test(text)) return undefined;
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

/**
 * Closes the connection when a statement is given up: it still runs there. After a `begin` that was given up, a later
 * statement of the pool would be answered but never committed.
 */
function closeOnTimeout(client: pg.PoolClient): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const sendWatched = (...args: unknown[]) => {
    const answer = send(...args);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown) => {
      if (error instanceof Error && error.message === "Query read timeout") void client.end();
      throw error;
    });
  };
  client.query = sendWatched as typeof client.query;
}
