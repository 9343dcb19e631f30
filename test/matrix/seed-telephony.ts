import type { TestApi } from "../support/api.ts";
import {
  makeAgentGroup,
  makeExtension,
  makeNode,
  makeAgentNumber,
  makePhoneNumber,
  makeTrunk,
} from "../support/telephony-factory.ts";
import { unique, type TestAccount } from "../support/account-factory.ts";
import type { Ids } from "./seed-ids.ts";

/** Returns a new extension number. */
export function freeExtension(): string {
  return String(100_000 + Number(unique("").slice(1)));
}

/** Returns a phone number that belongs to no account. */
export function freeNumber(): string {
  return `9190${String(10_000_000 + Number(unique("").slice(1)))}`;
}

/** Creates an extension, an agent group with a member, a phone number, and an inactive node with a trunk. */
export async function seedTelephony(
  { app }: TestApi,
  account: TestAccount,
  mark: string,
): Promise<
  Pick<
    Ids,
    | "account_id"
    | "extension_id"
    | "agent_group_id"
    | "agent_member_id"
    | "owned_number"
    | "agent_number"
    | "voice_node_id"
    | "trunk_id"
  >
> {
  const number = freeExtension();
  const extension_id = await makeExtension(app, account, number);
  const { account_id } = account;
  const db = app.db.query;
  await db
    .updateTable("extensions")
    .set({ name: `${mark} phone` })
    .where("account_id", "=", account_id)
    .where("id", "=", extension_id)
    .execute();
  const agent_group_id = await makeAgentGroup(app, account, [number]);
  const member = await db
    .selectFrom("agent_group_members")
    .select("id")
    .where("account_id", "=", account_id)
    .where("group_id", "=", agent_group_id)
    .executeTakeFirstOrThrow();
  const voice_node_id = await makeNode(app, { active: false });
  const owned_number = freeNumber();
  await makePhoneNumber(app, account, owned_number);
  const agent_number = freeNumber();
  await makeAgentNumber(app, account, agent_number);
  return {
    account_id,
    owned_number,
    agent_number,
    extension_id,
    agent_group_id,
    agent_member_id: member.id,
    voice_node_id,
    trunk_id: await makeTrunk(app, [voice_node_id], { active: false }),
  };
}
