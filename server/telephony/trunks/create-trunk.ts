import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { validateTrunk, refuseTakenTrunk } from "./internal/validate-trunk.ts";
import { touchVoiceNodes } from "../nodes/touch-voice-nodes.ts";
import type { NewTrunk, TrunkResponse } from "./trunk-schema.ts";
import { readTrunk } from "./trunks.ts";
import { serializeNodeChanges } from "../nodes/serialize-node-changes.ts";

/**
 * Creates a trunk with its limits per node; for operators. Refuses: validation-failed (name, endpoint,
 * only_account_id, fallback_trunk_id, nodes). The caller sends `call_work` for each of its nodes with
 * account 0 after the commit.
 */
export async function createTrunk(
  tx: Tx,
  actor: Actor,
  wanted: NewTrunk,
  now: Date,
): Promise<TrunkResponse> {
  await serializeNodeChanges(tx);
  const { nodes, ...rest } = wanted;
  const trunk = {
    name: rest.name,
    endpoint: rest.endpoint,
    only_account_id: rest.only_account_id ?? null,
    number_format: rest.number_format ?? "e164",
    number_prefix: rest.number_prefix ?? "",
    caller_ids: rest.caller_ids ?? [],
    caller_ids_only: rest.caller_ids_only ?? true,
    agent_numbers: rest.agent_numbers ?? "verified",
    destinations: rest.destinations ?? ["*"],
    fallback_trunk_id: rest.fallback_trunk_id ?? null,
    active: rest.active ?? true,
  };
  await validateTrunk(tx, { id: null, nodes, ...trunk });
  const { id } = await tx
    .insertInto("trunks")
    .values({ ...trunk, created_at: now, updated_at: now })
    .returning("id")
    .executeTakeFirstOrThrow()
    .catch(refuseTakenTrunk);
  if (nodes.length > 0) {
    await tx
      .insertInto("trunk_nodes")
      .values(nodes.map((share) => ({ trunk_id: id, ...share })))
      .execute();
  }
  await touchVoiceNodes(
    tx,
    nodes.map(({ node_id }) => node_id),
    now,
  );
  await recordAudit(tx, actor, { at: now, action: "trunk.created", subject_id: id });
  return readTrunk(tx, id);
}
