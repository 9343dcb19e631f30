import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { validateTrunk, refuseTakenTrunk } from "./internal/validate-trunk.ts";
import { lockTrunk } from "./internal/lock-trunk.ts";
import { keepsItsPlace } from "../nodes/keeps-its-place.ts";
import { moveQueuedCalls, type MovedCalls } from "../nodes/move-queued-calls.ts";
import { touchVoiceNodes } from "../nodes/touch-voice-nodes.ts";
import type { TrunkResponse, TrunkPatch } from "./trunk-schema.ts";
import { readTrunk } from "./trunks.ts";
import { serializeNodeChanges } from "../nodes/serialize-node-changes.ts";

/**
 * Updates a trunk; the leaders of its nodes restart. Queued calls on a removed node move to another
 * node of the trunk. Refuses: not-found; validation-failed (name, endpoint, only_account_id,
 * fallback_trunk_id, nodes); conflict if a removed node has calls of the trunk that cannot move. The caller
 * sends `call_work` for `nodes` with account 0, and for `moved`, after the commit.
 */
export async function updateTrunk(
  tx: Tx,
  actor: Actor,
  id: number,
  patch: TrunkPatch,
  now: Date,
): Promise<{ trunk: TrunkResponse; nodes: readonly number[]; moved: MovedCalls }> {
  await serializeNodeChanges(tx);
  await lockTrunk(tx, id);
  const earlier = await readTrunk(tx, id);
  const { nodes, ...own } = patch;
  await validateTrunk(tx, { ...patch, id });
  await tx
    .updateTable("trunks")
    .set({ ...own, updated_at: now })
    .where("id", "=", id)
    .execute()
    .catch(refuseTakenTrunk);
  const moved = nodes ? await replaceShares(tx, earlier, nodes, now) : [];
  const affected = [...earlier.nodes, ...(nodes ?? [])].map(({ node_id }) => node_id);
  const touched = [...new Set(affected)].toSorted((a, b) => a - b);
  await touchVoiceNodes(tx, touched, now);
  await recordAudit(tx, actor, {
    at: now,
    action: "trunk.updated",
    subject_id: id,
    detail: { changed: Object.keys(patch) },
  });
  return { trunk: await readTrunk(tx, id), nodes: touched, moved };
}

async function replaceShares(
  tx: Tx,
  trunk: TrunkResponse,
  nodes: TrunkResponse["nodes"],
  now: Date,
): Promise<MovedCalls> {
  await tx.deleteFrom("trunk_nodes").where("trunk_id", "=", trunk.id).execute();
  if (nodes.length > 0) {
    await tx
      .insertInto("trunk_nodes")
      .values(nodes.map((share) => ({ trunk_id: trunk.id, ...share })))
      .execute();
  }
  const kept = new Set(nodes.map(({ node_id }) => node_id));
  const moved: MovedCalls[number][] = [];
  for (const { node_id } of trunk.nodes) {
    if (kept.has(node_id)) continue;
    moved.push(...(await moveQueuedCalls(tx, { node_id, trunk_id: trunk.id })));
    await refuseWithLiveCalls(tx, { node_id, trunk_id: trunk.id }, now);
  }
  return moved;
}

async function refuseWithLiveCalls(
  tx: Tx,
  at: { node_id: number; trunk_id: number },
  now: Date,
): Promise<void> {
  const call = await tx
    .selectFrom("calls")
    .select("id")
    .where("node_id", "=", at.node_id)
    .where("trunk_id", "=", at.trunk_id)
    .where(keepsItsPlace(now))
    .limit(1)
    .executeTakeFirst();
  if (call) {
    throw new Refusal(
      "conflict",
      `This trunk has calls on node ${at.node_id} that are queued or in progress; wait until they end`,
    );
  }
}
