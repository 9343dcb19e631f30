// Opens the transactions of requests' writes, with limits of connections, so that writes that hang or run long do not
// exhaust the connections of the others.
import type pg from "pg";
import { clientTransaction } from "../../lib/database/client-transaction.ts";
import type { Database, Tx } from "../../lib/database/database.ts";
import { unavailable } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";
import { openSlots } from "../../lib/slots.ts";

/** Runs `work` in one transaction and commits it; rolls back when it throws. `With` are further arguments. */
export type Begin<With extends unknown[]> = <Answer>(
  work: (tx: Tx, ...more: With) => Promise<Answer>,
) => Promise<Answer>;

export type Transactions = {
  /**
   * For a write that may wait for a row that another transaction holds; 503 when too many wait already. `locked` names a
   * row that it locks and that others hold for long: writes of one such row run one after the other, and those of all
   * such rows never take the whole share of their account, or all slots.
   */
  plain(accountId: number, locked?: string): Begin<[]>;
  /** The same for a write that may also wait for a request with the same key in another process. */
  keyed(accountId: number, locked?: string): Begin<[]>;
  /**
   * For a write that may run long, with its connection for COPY; each of its statements may take
   * `statement_seconds`. 503 when too many wait already. `recheck` runs after the wait, before the transaction: it throws
   * if the caller may no longer write.
   */
  long(
    accountId: number,
    statement_seconds: number,
    recheck: Recheck,
  ): Begin<[client: pg.PoolClient]>;
  /** The same for a file that is being parsed: csvParsing limits those, so they take no slot of other writes. */
  file(statement_seconds: number, recheck: Recheck): Begin<[client: pg.PoolClient]>;
};

type Recheck = () => Promise<void>;

/**
 * Plain and keyed writes that hold a connection: one that waits for a lock, such as of a group into which a large file is
 * imported, keeps it until its time-out. Reads, leases and other accounts need connections meanwhile.
 */
const writes_at_once_max = 6;
/** One fewer, so that plain writes do not wait for requests that hang in another process. */
const keyed_at_once_max = 5;
const writes_of_account_max = 4;
const writes_waiting_max = 1_000;
/** Fewer, so that a cancellation or a hang-up never waits for a group. */
const locking_at_once_max = 4;
const locking_of_account_max = 2;
/** A client that has waited longer may have repeated its write. */
const waited_ms_max = 5_000;

/** Each waiting write may hold a body of many megabytes. */
const long_at_once_max = 2;
const long_waiting_max = 6;
const long_of_account_waiting_max = 2;

/** Opens the transactions of a process, with their limits. */
export function openTransactions(db: Database): Transactions {
  const unlimited = Number.POSITIVE_INFINITY;
  // First the account's share: its writes that wait for it must not hold a slot.
  const shares = openShares(unlimited, writes_of_account_max, writes_waiting_max);
  const locking = openShares(locking_at_once_max, locking_of_account_max, writes_waiting_max);
  const rows = openShares<string>(unlimited, 1, writes_waiting_max);
  const keyedWrites = openSlots(keyed_at_once_max, unlimited);
  const writes = openSlots(writes_at_once_max, unlimited);
  const longWrites = openSlots(long_at_once_max, long_waiting_max);
  // Only one write of an account runs or waits for a slot; its next ones wait behind it.
  const accounts = openShares(unlimited, 1, long_of_account_waiting_max);
  const begin: Begin<[]> = (work) => db.query.transaction().execute(work);
  const share = <Answer>(accountId: number, locked: string | undefined, run: Run<Answer>) => {
    const shared = () => shares.use(accountId, run);
    if (locked === undefined) return shared();
    return rows.use(`${accountId} ${locked}`, () => locking.use(accountId, shared));
  };
  const file: Transactions["file"] = (statement_seconds, recheck) => async (work) => {
    await recheck();
    return clientTransaction(db, statement_seconds, work);
  };
  return {
    plain: (accountId, locked) => (work) => {
      const run = unlessLate(() => begin(work));
      return share(accountId, locked, () => writes.use(run));
    },
    keyed: (accountId, locked) => (work) => {
      const run = unlessLate(() => begin(work));
      return share(accountId, locked, () => keyedWrites.use(() => writes.use(run)));
    },
    long: (accountId, statement_seconds, recheck) => (work) =>
      accounts.use(accountId, () => longWrites.use(() => file(statement_seconds, recheck)(work))),
    file,
  };
}

type Run<Answer> = () => Promise<Answer>;

/** Refuses a write that has waited too long (503); those behind it are refused as soon as one ends. */
function unlessLate<Answer>(write: Run<Answer>): Run<Answer> {
  const until_ms = performance.now() + waited_ms_max;
  return () => {
    if (performance.now() > until_ms) throw unavailable(new Error("waited too long for a slot"));
    return write();
  };
}
