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

/**
 * As lockUnfrozen, but returns false while the account is frozen, for work that waits for the end of the freeze; or only
 * if it was frozen after `frozenUntil`, for work that does not wait longer.
 */
export async function lockIfUnfrozen(
  tx: Tx,
  accountId: number,
  frozenUntil: Date | null = null,
): Promise<boolean> {
  return (await lockAccount(tx, [accountId, frozenUntil])).length > 0;
}

const lockAccount = statement(`
  select from accounts where account_id = $1 and (frozen_at is null or frozen_at <= $2::timestamptz)
  for key share`);

/** An account that is frozen for longer has moved, or its operator ended its use for now. */
const long_freeze_ms = 86_400_000;

/** Returns the time until which an account must have been frozen to count as frozen for long. */
export function longFrozenUntil(now: Date): Date {
  return new Date(now.getTime() - long_freeze_ms);
}

const findFrozen = statement<{ account_id: number }>(
  "select account_id from accounts where account_id = $1 and frozen_at is not null",
);
