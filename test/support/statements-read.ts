// Counts the rows that each statement of a pool reads, as PostgreSQL counts them: rows of sequential scans and entries
// returned by index scans. Numbers do not depend on the machine.
import type pg from "pg";

export type StatementRead = {
  readonly text: string;
  readonly read: number;
  readonly returned: number;
};

type Send = (...args: unknown[]) => Promise<pg.QueryResult>;

const counted = `select coalesce(sum(pg_stat_get_xact_tuples_returned(oid)), 0)::int as n
  from pg_class where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`;

/**
 * Makes every statement of the pool that runs from now on record what it read. Must be called before the pool has
 * connected. The returned function runs `work` and returns its answer with its statements.
 */
export function openStatementsRead(pool: pg.Pool) {
  let statements: StatementRead[] = [];
  pool.on("connect", (client) => {
    const send = client.query.bind(client) as unknown as Send;
    const count = async () => (await send(counted)).rows[0].n as number;
    let isOpen = false;
    const sendCounted = async (query: unknown, values: unknown): Promise<pg.QueryResult> => {
      const text = typeof query === "string" ? query : (query as { text: string }).text;
      const control = /^\s*(begin|start|commit|rollback|set)\b/i.exec(text)?.[1]?.toLowerCase();
      // A setting reads nothing, and the isolation level must precede every query.
      if (control === "set") return send(query, values);
      if (control) {
        isOpen = control === "begin" || control === "start";
        return send(query, values);
      }
      // Within one transaction, because the counters of an ended one are moved away at any time.
      if (!isOpen) await send("begin");
      const before = await count();
      const result = await send(query, values);
      statements.push({ text, read: (await count()) - before, returned: result.rows.length });
      if (!isOpen) await send("commit");
      return result;
    };
    client.query = ((query: unknown, values: unknown, done: unknown) => {
      const callback = [values, done].find((each) => typeof each === "function") as
        | ((err: unknown, result?: unknown) => void)
        | undefined;
      const answer = sendCounted(query, Array.isArray(values) ? values : undefined);
      // oxlint-disable-next-line promise/no-callback-in-promise -- the pool passes callbacks
      if (callback) void answer.then((result) => callback(null, result), callback);
      return callback ? undefined : answer;
    }) as unknown as typeof client.query;
  });
  return async <T>(work: () => Promise<T>): Promise<{ answer: T; statements: StatementRead[] }> => {
    statements = [];
    const answer = await work();
    return { answer, statements };
  };
}
