import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";
import { takeTurnAtNodes } from "./take-turn-at-nodes.ts";

/**
 * Deletes a node. One that calls were placed on must be inactive and have none that is not over; the
 * recordings on it then count as gone. Refuses: not-found; conflict.
 */
export async function deleteVoiceNode(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  await takeTurnAtNodes(tx);
  const deleted = await tx
    .deleteFrom("voice_nodes")
    .where("id", "=", id)
    .returning(["name", "active"])
    .executeTakeFirst();
  if (!deleted) throw notFound();
  const { name, active } = deleted;
  const calls = tx.selectFrom("calls").select("id").where("node_id", "=", id).limit(1);
  if (active && (await calls.executeTakeFirst()))
    throw new Refusal(
      "conflict",
      "Calls were placed on this node, and their recordings are there; make it inactive with active: false to delete it",
    );
  // Two conditions, an index for each.
  const waiting = await calls.where("stage", "=", "queued").executeTakeFirst();
  if (waiting ?? (await calls.where("stage", "not in", ["queued", "ended"]).executeTakeFirst()))
    throw new Refusal("conflict", "Calls of this node wait or are under way");
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_node.deleted",
    subject_id: id,
    detail: { name },
  });
}
