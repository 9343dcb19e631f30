import { statement, type Executor, type Tx } from "../../lib/database/database.ts";
import { frozenAccount } from "../../lib/errors.ts";

/** Returns whether the account is frozen. */
export async function isFrozen(db: Executor, accountId: number): Promise<boolean> {
  return (await findFrozen(db, [accountId])).length > 0;
}

/** Throws unavailable while the account is frozen, for a write that needs no token. */
export async function refuseFrozen(db: Executor, accountId: number): Promise<void> {
  if (await isFrozen(db, accountId)) throw frozenAccount();
}

/**
 * Throws unavailable while the account is frozen, for a transaction that may begin long after its request was checked.
 * Locks the account's row, by which `account export` waits for the end of the transaction.
 */
export async function lockUnfrozen(tx: Tx, accountId: number): Promise<void> {
  if (!(await lockIfUnfrozen(tx, accountId))) throw frozenAccount();
}

/** As lockUnfrozen, but returns false while the account is frozen, for work that waits for the end of the freeze. */
export async function lockIfUnfrozen(tx: Tx, accountId: number): Promise<boolean> {
  return (await lockAccount(tx, [accountId])).length > 0;
}

const lockAccount = statement(
  "select from accounts where account_id = $1 and frozen_at is null for key share",
);

const findFrozen = statement<{ account_id: number }>(
  "select account_id from accounts where account_id = $1 and frozen_at is not null",
);
