import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { AccountResponse } from "./account-schema.ts";
import { findAccount } from "./accounts.ts";
import type { Feature } from "../permissions.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/** Sets the account's features, on behalf of an operator. Throws not-found. */
export async function setAccountFeatures(
  tx: Tx,
  actor: Actor,
  features: readonly Feature[],
  now: Date,
): Promise<AccountResponse> {
  await tx
    .updateTable("accounts")
    .set({ features: [...features], updated_at: now })
    .where("account_id", "=", actor.account_id)
    .execute();
  // Campaigns may wait for it.
  const wake = { account_id: actor.account_id, kind: "chat.wake_campaigns", subject: "" } as const;
  if (features.includes("bulk_chat")) await addJob(tx, { ...wake, run_at: now }, now);
  const account = await findAccount(tx, actor.account_id);
  await recordAudit(tx, actor, {
    at: now,
    action: "account.features_set",
    subject_id: actor.account_id,
    detail: { features },
  });
  return account;
}
