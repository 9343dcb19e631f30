import { statement, type Executor } from "../../lib/database/database.ts";
import { frozenAccount } from "../../lib/errors.ts";

/** Throws 503 if the account is frozen. In the transaction of a write, it is exact: what a process has cached may be old. */
export async function refuseFrozen(db: Executor, accountId: number): Promise<void> {
  if (await isFrozen(db, accountId)) throw frozenAccount();
}

/** Returns whether the account is frozen. */
export async function isFrozen(db: Executor, accountId: number): Promise<boolean> {
  return (await findFrozen(db, [accountId])).length > 0;
}

const findFrozen = statement<{ account_id: number }>(
  "select account_id from accounts where account_id = $1 and frozen_at is not null",
);
