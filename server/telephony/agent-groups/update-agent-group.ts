import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { AgentGroupResponse, AgentGroupPatch } from "./agent-group-schema.ts";
import { readAgentGroup, touchAgentGroup } from "./agent-groups.ts";
import { refuseTakenAgentGroup } from "./create-agent-group.ts";

/** Updates an agent group. Refuses: not-found; validation-failed (name taken). */
export async function updateAgentGroup(
  tx: Tx,
  actor: Actor,
  id: number,
  patch: AgentGroupPatch,
  now: Date,
): Promise<AgentGroupResponse> {
  await touchAgentGroup(tx, actor.account_id, id, now);
  await tx
    .updateTable("agent_groups")
    .set(patch)
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .execute()
    .catch(refuseTakenAgentGroup);
  const detail = { changed: Object.keys(patch) };
  await recordAudit(tx, actor, { at: now, action: "agent_group.updated", subject_id: id, detail });
  return readAgentGroup(tx, actor.account_id, id);
}
