import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/**
 * Serializes changes to a workspace's configuration; throws not-found if the account does not have it. With
 * "changes", leads can still be written. With "leads" it also waits for leads being written and blocks new
 * ones, so that unused entries can be deleted: writers of leads lock the row FOR KEY SHARE.
 */
export async function lockWorkspace(
  tx: Tx,
  accountId: number,
  workspaceId: number,
  against: "changes" | "leads",
): Promise<void> {
  const workspace = tx
    .selectFrom("workspaces")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", workspaceId);
  const locked = against === "leads" ? workspace.forUpdate() : workspace.forNoKeyUpdate();
  if (!(await locked.executeTakeFirst())) throw notFound();
}
