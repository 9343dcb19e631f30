// Webhooks on their way into chat_inbox. While a statement of an account is under way, what arrives
// for the account gathers and goes together when it is done: no timer, so an idle server adds no delay.
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database.ts";
import { isDatabaseUnavailable } from "../../lib/database-errors.ts";
import { unavailable } from "../../lib/errors.ts";

export type InboxRow = {
  readonly chat_number_id: number;
  readonly driver: string;
  readonly body: string;
  readonly urgent: boolean;
};

export type InboxWriter = {
  /**
   * Resolves true when the row is committed, false when PostgreSQL cannot hold it; 503 when the
   * database is away or too much waits.
   */
  store(accountId: number, row: InboxRow): Promise<boolean>;
};

type Waiting = {
  readonly row: InboxRow;
  readonly resolve: (stored: boolean) => void;
  readonly reject: (error: unknown) => void;
};

/** Accounts that are written for at once; one statement at a time for each. */
const lanes_max = 4;
const batch_rows_max = 500;
const batch_characters_max = 4_000_000;
const waiting_rows_max = 5_000;
const waiting_characters_max = 64_000_000;

export function openInboxWriter(app: App): InboxWriter {
  // Insertion order is the accounts' turn: one that was served goes to the end.
  const queues = new Map<number, Waiting[]>();
  const busy = new Set<number>();
  let lanes = 0;
  let rows = 0;
  let characters = 0;

  const next = (): [number, Waiting[]] | null => {
    for (const [accountId, queue] of queues) {
      if (busy.has(accountId)) continue;
      busy.add(accountId);
      queues.delete(accountId);
      const batch = queue.splice(0, batchLength(queue));
      if (queue.length > 0) queues.set(accountId, queue);
      rows -= batch.length;
      for (const { row } of batch) characters -= row.body.length;
      return [accountId, batch];
    }
    return null;
  };

  const runLane = async () => {
    let turn = next();
    while (turn) {
      const [accountId, batch] = turn;
      const tell = await storeBatch(app, accountId, batch);
      busy.delete(accountId);
      turn = next();
      // The next batch leaves before the answers of this one are rendered.
      if (turn) setImmediate(tell);
      else tell();
    }
    lanes--;
  };

  return {
    store(accountId, row) {
      if (rows >= waiting_rows_max || characters >= waiting_characters_max)
        return Promise.reject(unavailable(new Error("too many webhooks wait for the database")));
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const queue = queues.get(accountId);
      if (queue) queue.push({ row, resolve, reject });
      else queues.set(accountId, [{ row, resolve, reject }]);
      rows++;
      characters += row.body.length;
      if (lanes < lanes_max && !busy.has(accountId)) {
        lanes++;
        // After this turn of the event loop: webhooks that arrived together go together.
        setImmediate(() => void runLane());
      }
      return promise;
    },
  };
}

/** As many as one statement takes, and at least one. */
function batchLength(queue: readonly Waiting[]): number {
  let characters = 0;
  const end = queue.findIndex(({ row }, i) => {
    characters += row.body.length;
    return i > 0 && (i >= batch_rows_max || characters > batch_characters_max);
  });
  return end < 0 ? queue.length : end;
}

/** Stores a batch and returns what tells its callers. */
async function storeBatch(app: App, accountId: number, batch: Waiting[]): Promise<() => void> {
  try {
    const list = batch.map(({ row }) => row);
    await insertRows(app.db.pool, [
      accountId,
      app.clock.now(),
      list.map((row) => row.chat_number_id),
      list.map((row) => row.driver),
      list.map((row) => row.body),
      list.map((row) => row.urgent),
    ]);
    for (const number of new Set(list.map((row) => row.chat_number_id)))
      app.hints.send("chat_report", `${accountId}:${number}`);
    return () => {
      for (const { resolve } of batch) resolve(true);
    };
  } catch (error) {
    const reason = isDatabaseUnavailable(error) ? unavailable(error) : error;
    if (reason !== error || (batch.length === 1 && !isUnstorable(error)))
      return () => {
        for (const { reject } of batch) reject(reason);
      };
    if (batch.length === 1) return () => batch[0]!.resolve(false);
    // One bad row must not fail its neighbours.
    for (const one of batch) (await storeBatch(app, accountId, [one]))();
    return () => {};
  }
}

/** What PostgreSQL says of text that is no JSON to it, or is nested too deeply. */
function isUnstorable(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && (code.startsWith("22") || code.startsWith("54"));
}

const insertRows = statement(`
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
  select $1, t.number, t.driver, t.body::json, $2::timestamptz, case when t.urgent then '-infinity' else $2 end
  from unnest($3::bigint[], $4::text[], $5::text[], $6::boolean[]) t (number, driver, body, urgent)`);
