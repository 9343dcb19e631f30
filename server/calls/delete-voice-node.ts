import { recordAudit, type Actor } from "../accounts/record-audit.ts";
import type { Tx } from "../lib/database.ts";
import { Refusal, notFound } from "../lib/errors.ts";
import { takeTurnAtNodes } from "./take-turn-at-nodes.ts";

/**
 * Deletes a node that no call was ever placed on: the recordings of the others stay on theirs.
 * Refuses: not-found; conflict for one with calls, which can be made inactive.
 */
export async function deleteVoiceNode(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  await takeTurnAtNodes(tx);
  const deleted = await tx
    .deleteFrom("voice_nodes")
    .where("id", "=", id)
    .returning("name")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  const call = await tx
    .selectFrom("calls")
    .select("id")
    .where("node_id", "=", id)
    .limit(1)
    .executeTakeFirst();
  if (call) {
    throw new Refusal(
      "conflict",
      "Calls were placed on this node, so it cannot be deleted; make it inactive with active: false",
    );
  }
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_node.deleted",
    subject_id: id,
    detail: deleted,
  });
}
