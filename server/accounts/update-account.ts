import type { Tx } from "../lib/database.ts";
import { invalid } from "../lib/errors.ts";
import type { AccountAnswer, AccountPatch } from "./account-schema.ts";
import { findAccount } from "./accounts.ts";
import { judgeAccount } from "./judge-account.ts";
import { recordAudit, type Actor } from "./record-audit.ts";

/** Changes the actor's account and returns it. Refuses: validation-failed (time_zone), not-found. */
export async function updateAccount(
  tx: Tx,
  actor: Actor,
  patch: AccountPatch,
  now: Date,
): Promise<AccountAnswer> {
  const faults = judgeAccount(patch);
  if (faults.length > 0) throw invalid(faults);
  await tx
    .updateTable("accounts")
    .set({ ...patch, updated_at: now })
    .where("account_id", "=", actor.account_id)
    .execute();
  const account = await findAccount(tx, actor.account_id);
  await recordAudit(tx, actor, {
    at: now,
    action: "account.updated",
    subject_id: actor.account_id,
    detail: { changed: Object.keys(patch) },
  });
  return account;
}
