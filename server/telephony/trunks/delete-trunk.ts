import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { lockTrunk } from "./internal/lock-trunk.ts";
import { keepsItsPlace } from "../nodes/keeps-its-place.ts";
import { touchVoiceNodes } from "../nodes/touch-voice-nodes.ts";
import { readTrunk } from "./trunks.ts";
import { serializeNodeChanges } from "../nodes/serialize-node-changes.ts";

/**
 * Deletes a trunk and returns its nodes. Refuses: not-found; conflict while the trunk has queued or live calls, except
 * queued ones of accounts that are frozen for long. The caller sends `call_work` for each node with account 0 after the
 * commit.
 */
export async function deleteTrunk(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<readonly number[]> {
  await serializeNodeChanges(tx);
  await lockTrunk(tx, id);
  const { name, nodes } = await readTrunk(tx, id);
  const call = await tx
    .selectFrom("calls")
    .select("id")
    .where("trunk_id", "=", id)
    .where(keepsItsPlace(now))
    .limit(1)
    .executeTakeFirst();
  if (call) {
    throw new Refusal(
      "conflict",
      "This trunk has calls that are queued or in progress; deactivate it with active: false and wait until they end",
    );
  }
  await tx.deleteFrom("trunks").where("id", "=", id).execute();
  const node_ids = nodes.map(({ node_id }) => node_id);
  await touchVoiceNodes(tx, node_ids, now);
  const detail = { name };
  await recordAudit(tx, actor, { at: now, action: "trunk.deleted", subject_id: id, detail });
  return node_ids;
}
