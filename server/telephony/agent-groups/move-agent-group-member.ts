import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { readAgentGroupMember } from "./agent-group-members.ts";
import type { AgentMemberResponse } from "./agent-group-schema.ts";
import { touchAgentGroup } from "./agent-groups.ts";
import {
  placeAgentGroupMembers,
  readAgentGroupOrder,
} from "./internal/place-agent-group-members.ts";

/** Moves a member to another position; one beyond the last means the last. Refuses: not-found. */
export async function moveAgentGroupMember(
  tx: Tx,
  actor: Actor,
  place: { readonly group_id: number; readonly member_id: number; readonly position: number },
  now: Date,
): Promise<AgentMemberResponse> {
  const { account_id } = actor;
  const { group_id, member_id, position } = place;
  await touchAgentGroup(tx, account_id, group_id, now);
  const order = (await readAgentGroupOrder(tx, account_id, group_id)).map(({ id }) => id);
  if (!order.includes(member_id)) throw notFound();
  const others = order.filter((id) => id !== member_id);
  others.splice(position - 1, 0, member_id);
  await placeAgentGroupMembers(tx, account_id, group_id, others);
  await recordAudit(tx, actor, {
    at: now,
    action: "agent_group_member.moved",
    subject_id: group_id,
    detail: { member_id },
  });
  return readAgentGroupMember(tx, account_id, group_id, member_id);
}
