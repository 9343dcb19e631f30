import { statement, type Executor } from "../../lib/database/database.ts";

/** Returns whether the account is frozen. */
export async function isFrozen(db: Executor, accountId: number): Promise<boolean> {
  return (await findFrozen(db, [accountId])).length > 0;
}

const findFrozen = statement<{ account_id: number }>(
  "select account_id from accounts where account_id = $1 and frozen_at is not null",
);
