import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/**
 * Makes changes of one workspace's configuration wait for each other; not-found when it is not the
 * account's. Against "changes", leads go on being written. Against "leads" too, it waits for every
 * lead being written and holds up new ones, so that what no lead uses can be deleted: whoever
 * writes leads holds the row for key share.
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
