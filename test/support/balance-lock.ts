import type { App } from "../../server/engine/app.ts";
import type { TestAccount } from "./account-factory.ts";
import { awaitsLock } from "./awaits-lock.ts";

/** Starts `work`, by which credit is reserved, and runs `meanwhile` while that waits for the account's balance. */
export async function whileBalanceIsLocked<Answer>(
  { db }: App,
  { account_id }: TestAccount,
  work: () => Promise<Answer>,
  meanwhile: () => Promise<unknown>,
): Promise<Answer> {
  let started: Promise<Answer>;
  await db.query.transaction().execute(async (tx) => {
    await tx
      .selectFrom("credit_balances")
      .select("available")
      .where("account_id", "=", account_id)
      .forUpdate()
      .execute();
    started = work();
    await awaitsLock(db.query);
    await meanwhile();
  });
  return started!;
}
