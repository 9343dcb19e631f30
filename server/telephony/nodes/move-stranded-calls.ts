import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { moveQueuedCalls } from "./move-queued-calls.ts";
import { serializeNodeChanges } from "./serialize-node-changes.ts";

const findStranded = statement<{ id: number }>(`
  select n.id from voice_nodes n
  where not n.active
    and exists (select from calls c where c.node_id = n.id and c.stage = 'queued')`);

/**
 * Runs one iteration: moves calls that are queued on an inactive node, because they were submitted
 * while it was deactivated or had no other node then. Returns 0: the rest cannot be moved now.
 */
export async function moveStrandedCalls(app: App): Promise<number> {
  for (const { id } of await findStranded(app.db.pool, [])) {
    const moved = await app.db.query.transaction().execute(async (tx) => {
      await serializeNodeChanges(tx);
      return moveQueuedCalls(tx, { node_id: id });
    });
    for (const { node_id, account_id } of moved)
      app.notifications.send("call_work", `${node_id}:${account_id}`);
  }
  return 0;
}
