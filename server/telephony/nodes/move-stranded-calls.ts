import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { moveQueuedCalls } from "./move-queued-calls.ts";
import { takeTurnAtNodes } from "./take-turn-at-nodes.ts";

const findStranded = statement<{ id: number }>(`
  select n.id from voice_nodes n
  where not n.active
    and exists (select from calls c where c.node_id = n.id and c.stage = 'queued')`);

/**
 * A turn: calls that went to a node after it was switched off (they were submitted at the same moment,
 * or there was no other node then) go to another one. Returns 0: what is left has nowhere to go.
 */
export async function moveStrandedCalls(app: App): Promise<number> {
  for (const { id } of await findStranded(app.db.pool, [])) {
    const moved = await app.db.query.transaction().execute(async (tx) => {
      await takeTurnAtNodes(tx);
      return moveQueuedCalls(tx, { node_id: id });
    });
    for (const { node_id, account_id } of moved)
      app.notifications.send("call_work", `${node_id}:${account_id}`);
  }
  return 0;
}
