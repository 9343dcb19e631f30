import type { App } from "../../engine/app.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import type { Random } from "../../lib/random.ts";
import { moveQueuedCalls, type MovedCalls } from "../nodes/move-queued-calls.ts";
import { serializeNodeChanges } from "../nodes/serialize-node-changes.ts";
import { chooseTrunk, findTrunks } from "./choose-trunk.ts";

const findStranded = statement<{ id: number }>(`
  select distinct n.id from voice_nodes n
  join calls c on c.node_id = n.id and c.stage = 'queued'
  where not n.active or n.lost_at is not null`);

/**
 * Runs one iteration: moves calls that are queued on an inactive or lost node to another node of their trunk,
 * else to another trunk that their account may use and that shows their caller ID. Returns 0: the rest cannot
 * be moved now.
 */
export async function moveStrandedCalls(app: App): Promise<number> {
  for (const { id } of await findStranded(app.db.pool, [])) {
    const moved = await app.db.query.transaction().execute(async (tx) => {
      await serializeNodeChanges(tx);
      const sameTrunk = await moveQueuedCalls(tx, { node_id: id });
      return [...sameTrunk, ...(await moveToOtherTrunks(tx, id, app.random))];
    });
    for (const { node_id, account_id } of moved)
      app.notifications.send("call_work", `${node_id}:${account_id}`);
  }
  return 0;
}

const findLeft = statement<{ account_id: number; cli_number: string | null }>(`
  select distinct account_id, cli_number from calls where node_id = $1 and stage = 'queued'`);

const moveCalls = statement<{ id: number }>(`
  update calls set node_id = $4, trunk_id = $5, fence = 0
  where account_id = $1 and node_id = $2 and stage = 'queued' and cli_number is not distinct from $3
  returning id`);

/** Moves what no other node of their trunk can place. */
async function moveToOtherTrunks(tx: Tx, from: number, random: Random): Promise<MovedCalls> {
  const moved: MovedCalls[number][] = [];
  for (const { account_id, cli_number } of await findLeft(tx, [from])) {
    const trunks = await findTrunks(tx, [account_id, cli_number]);
    const usable = trunks.filter(
      (trunk) => trunk.connected && trunk.allows_caller_id && trunk.node_id !== from,
    );
    const chosen = chooseTrunk(usable, random());
    if (!chosen) continue;
    const { node_id, trunk_id } = chosen;
    await moveCalls(tx, [account_id, from, cli_number, node_id, trunk_id]);
    moved.push({ node_id, account_id });
  }
  return moved;
}
