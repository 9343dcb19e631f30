import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";
import { keepsItsPlace } from "./keeps-its-place.ts";
import { serializeNodeChanges } from "./serialize-node-changes.ts";

/**
 * Deletes a voice node. A node with calls must be inactive and all its calls ended, except queued ones of
 * accounts that are frozen for long; its recordings count as deleted. Refuses: not-found; conflict.
 */
export async function deleteVoiceNode(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  await serializeNodeChanges(tx);
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
      "This node has placed calls and stores their recordings; deactivate it with active: false before deleting it",
    );
  // Two queries, because each uses its own index.
  const queued = calls.where("stage", "=", "queued").where(keepsItsPlace(now));
  const waiting = await queued.executeTakeFirst();
  if (waiting ?? (await calls.where("stage", "not in", ["queued", "ended"]).executeTakeFirst()))
    throw new Refusal("conflict", "This node has calls that are queued or in progress");
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_node.deleted",
    subject_id: id,
    detail: { name },
  });
}
