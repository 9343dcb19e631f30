import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import type { AgentGroupResponse, NewAgentGroup } from "./agent-group-schema.ts";
import { readAgentGroup } from "./agent-groups.ts";

/** Creates an agent group without members. Refuses: validation-failed (name taken). */
export async function createAgentGroup(
  tx: Tx,
  actor: Actor,
  { name }: NewAgentGroup,
  now: Date,
): Promise<AgentGroupResponse> {
  const { account_id } = actor;
  const { id } = await tx
    .insertInto("agent_groups")
    .values({ account_id, name, created_at: now, updated_at: now, members_counted_at: now })
    .returning("id")
    .executeTakeFirstOrThrow()
    .catch(refuseTakenAgentGroup);
  await recordAudit(tx, actor, { at: now, action: "agent_group.created", subject_id: id });
  return readAgentGroup(tx, account_id, id);
}

/** Maps a violation of the unique name to a field error on `name`; rethrows any other error. */
export function refuseTakenAgentGroup(error: unknown): never {
  if (violatesUnique(error, "agent_groups_account_id_name_key"))
    throw invalidField("name", "is already the name of an agent group");
  throw error;
}
