// How a request's write gets its transaction: each kind has its own bound on connections, so that
// writes that hang or last leave the others theirs.
import type pg from "pg";
import { clientTransaction } from "../lib/database/client-transaction.ts";
import type { Database, Tx } from "../lib/database/database.ts";
import { openShares } from "../lib/shares.ts";
import { openSlots } from "../lib/slots.ts";

/** Runs `work` in one transaction and commits it; rolls back when it throws. `With` is handed on beside it. */
export type Begin<With extends unknown[]> = <Answer>(
  work: (tx: Tx, ...beside: With) => Promise<Answer>,
) => Promise<Answer>;

export type Transactions = {
  readonly plain: Begin<[]>;
  /** For a write that may wait for its twin in another process. */
  keyed(accountId: number): Begin<[]>;
  /**
   * For a write that may last, with its connection for COPY; its statements may take
   * `statement_seconds` each. 503 when too many wait already.
   */
  long(accountId: number, statement_seconds: number): Begin<[client: pg.PoolClient]>;
};

/**
 * Keyed writes that have a connection: one whose twin hangs in another process keeps it until the
 * bound, and must leave some to everybody else.
 */
const keyed_at_once_max = 6;
const keyed_of_account_max = 4;
const keyed_waiting_max = 1_000;

/** Each that waits may hold a body of many megabytes. */
const long_at_once_max = 2;
const long_waiting_max = 6;
const long_of_account_waiting_max = 2;

export function openTransactions(db: Database): Transactions {
  const keyedWrites = openShares(keyed_at_once_max, keyed_of_account_max, keyed_waiting_max);
  const longWrites = openSlots(long_at_once_max, long_waiting_max);
  // One of an account runs or stands in the line; the next ones wait behind it.
  const turns = openShares(Number.POSITIVE_INFINITY, 1, long_of_account_waiting_max);
  const plain: Begin<[]> = (work) => db.query.transaction().execute(work);
  return {
    plain,
    keyed: (accountId) => (work) => keyedWrites.use(accountId, () => plain(work)),
    long: (accountId, statement_seconds) => (work) =>
      turns.use(accountId, () =>
        longWrites.use(() => clientTransaction(db, statement_seconds, work)),
      ),
  };
}
