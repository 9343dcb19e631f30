import type { Tx } from "../../lib/database/database.ts";
import type { AccountResponse, AccountLimits } from "./account-schema.ts";
import { findAccount } from "./accounts.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/** Sets the account's limits, on behalf of an operator. Throws not-found. */
export async function setAccountLimits(
  tx: Tx,
  actor: Actor,
  limits: AccountLimits,
  now: Date,
): Promise<AccountResponse> {
  await tx
    .updateTable("accounts")
    .set({ ...limits, updated_at: now })
    .where("account_id", "=", actor.account_id)
    .execute();
  const account = await findAccount(tx, actor.account_id);
  await recordAudit(tx, actor, {
    at: now,
    action: "account.limits_set",
    subject_id: actor.account_id,
    detail: limits,
  });
  return account;
}
