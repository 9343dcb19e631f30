import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalidField } from "../../lib/errors.ts";
import { countAgentGroupMembers } from "../count-agent-group-members.ts";
import { readAgentGroupMember } from "./agent-group-members.ts";
import { agent_members_max, readAgentNumber } from "./agent-group-schema.ts";
import type { AgentMemberResponse, NewAgentMember } from "./agent-group-schema.ts";
import { touchAgentGroup } from "./agent-groups.ts";
import {
  placeAgentGroupMembers,
  readAgentGroupOrder,
} from "./internal/place-agent-group-members.ts";

/**
 * Adds a member at a position, or at the end. The caller has validated the number's format. Refuses:
 * not-found; validation-failed (number: already a member); conflict (the group is full).
 */
export async function addAgentGroupMember(
  tx: Tx,
  actor: Actor,
  group: { readonly id: number; readonly country_code: string },
  member: NewAgentMember,
  now: Date,
): Promise<AgentMemberResponse> {
  const { account_id } = actor;
  await touchAgentGroup(tx, account_id, group.id, now);
  const number = readAgentNumber(member.number, group.country_code)!;
  const order = await readAgentGroupOrder(tx, account_id, group.id);
  if (order.some((other) => other.number === number))
    throw invalidField("number", "is already a member of the group");
  if (order.length >= agent_members_max)
    throw new Refusal("conflict", `An agent group may have at most ${agent_members_max} members`);
  const { id } = await tx
    .insertInto("agent_group_members")
    .values({
      account_id,
      group_id: group.id,
      number,
      position: order.length + 1,
      created_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const ids = order.map((other) => other.id);
  ids.splice((member.position ?? ids.length + 1) - 1, 0, id);
  await placeAgentGroupMembers(tx, account_id, group.id, ids);
  await countAgentGroupMembers(tx, account_id, [group.id]);
  await recordAudit(tx, actor, {
    at: now,
    action: "agent_group_member.added",
    subject_id: group.id,
    detail: { member_id: id },
  });
  return readAgentGroupMember(tx, account_id, group.id, id);
}
