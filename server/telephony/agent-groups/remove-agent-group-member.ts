import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { countAgentGroupMembers } from "../count-agent-group-members.ts";
import { touchAgentGroup } from "./agent-groups.ts";
import {
  placeAgentGroupMembers,
  readAgentGroupOrder,
} from "./internal/place-agent-group-members.ts";

/** Removes a member from a group; a call that rings it continues. Refuses: not-found. */
export async function removeAgentGroupMember(
  tx: Tx,
  actor: Actor,
  place: { readonly group_id: number; readonly member_id: number },
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  const { group_id, member_id } = place;
  await touchAgentGroup(tx, account_id, group_id, now);
  const removed = await tx
    .deleteFrom("agent_group_members")
    .where("account_id", "=", account_id)
    .where("group_id", "=", group_id)
    .where("id", "=", member_id)
    .returning("id")
    .executeTakeFirst();
  if (!removed) throw notFound();
  const order = await readAgentGroupOrder(tx, account_id, group_id);
  await placeAgentGroupMembers(
    tx,
    account_id,
    group_id,
    order.map(({ id }) => id),
  );
  await countAgentGroupMembers(tx, account_id, [group_id]);
  await recordAudit(tx, actor, {
    at: now,
    action: "agent_group_member.removed",
    subject_id: group_id,
    detail: { member_id },
  });
}
