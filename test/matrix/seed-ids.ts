import { reserveCredits } from "../../server/credits/reserve-credits.ts";
import type { TestApi } from "../support/api.ts";
import { makeSandboxTrunk, setCalling } from "../support/telephony-factory.ts";
import { makeChatCampaign, makeChatNumber, makeChatTemplate } from "../support/chat-factory.ts";
import { makeContact, makeCustomField, makeOption } from "../support/crm-factory.ts";
import {
  makeCredits,
  makeToken,
  makeUser,
  unique,
  type TestAccount,
} from "../support/account-factory.ts";
import { seedCallbacks } from "./seed-callbacks.ts";
import { seedTelephony } from "./seed-telephony.ts";
import { seedCalls } from "./seed-calls.ts";
import { seedChatContent } from "./seed-chat-content.ts";
import { seedVoiceCampaign } from "./seed-voice-campaign.ts";
import { seedVoiceContent } from "./seed-voice-content.ts";

/** The IDs of one resource of each kind that a path or a body can name, all of one account. */
export type Ids = {
  readonly workspace_id: number;
  /** An unused option of the status picklist. */
  readonly option_id: number;
  /** Unused; there is also an unused text field `note`. */
  readonly field_id: number;
  readonly contact_id: number;
  readonly lead_id: number;
  /** A user without a role. */
  readonly user_id: number;
  /** A collaborator of the lead. */
  readonly collaborator_id: number;
  /** A role that no user has. */
  readonly role_id: number;
  /** An open invitation. */
  readonly invitation_id: number;
  /** A token of the user. */
  readonly token_id: number;
  /** A finished import with one rejected row. */
  readonly import_id: number;
  /** A reservation of chat credit. */
  readonly reservation_id: number;
  readonly suppression_id: number;
  readonly group_id: number;
  /** A member of the group. */
  readonly member_id: number;
  /** Active, in the sandbox. */
  readonly chat_number_id: number;
  /** Approved, in the number's business account. */
  readonly template_id: number;
  /** Running. */
  readonly campaign_id: number;
  /** Of the campaign; its outcome has been unknown for long enough to resend. */
  readonly recipient_id: number;
  /** To the campaign, just now. */
  readonly reply_id: number;
  /** In the sandbox, with a hold, without campaigns. */
  readonly free_chat_number_id: number;
  /** An unused template of that number. */
  readonly free_template_id: number;
  readonly chat_flow_id: number;
  readonly automation_flow_id: string;
  readonly queued_call_id: number;
  /** Agent and customer are bridged. */
  readonly live_call_id: number;
  /** No agent answered; has a recording nevertheless. */
  readonly ended_call_id: number;
  /** The campaign of the ended call. */
  readonly call_campaign_id: number;
  /** Running. */
  readonly voice_campaign_id: number;
  /** A call of the campaign with a message that the caller recorded. */
  readonly voice_call_id: number;
  /** Ready, with audio; no menu plays it. */
  readonly voice_file_id: number;
  /** Used by no voice file. */
  readonly voice_menu_id: number;
  /** Used by no voice file. */
  readonly ai_agent_id: number;
  /** Only in the group below. */
  readonly extension_id: number;
  readonly agent_group_id: number;
  /** A member of the agent group. */
  readonly agent_member_id: number;
  /** A phone number of the account. */
  readonly owned_number: string;
  /** A phone that may be rung as an agent. */
  readonly agent_number: string;
  readonly account_id: number;
  /** Inactive, without calls. */
  readonly voice_node_id: number;
  /** Inactive, on that node. */
  readonly trunk_id: number;
  readonly erasure_id: number;
  /** Of the owner, shared. */
  readonly saved_view_id: number;
  /** Enabled, of kind account. */
  readonly callback_endpoint_id: number;
  /** A failed delivery to the endpoint. */
  readonly callback_delivery_id: number;
  /** A finished replay for the endpoint. */
  readonly callback_replay_id: number;
};

/** IDs that do not exist. */
export const unknownIds: Ids = {
  workspace_id: 8_000_000_000_000_001,
  option_id: 8_000_000_000_000_002,
  field_id: 8_000_000_000_000_003,
  contact_id: 8_000_000_000_000_004,
  lead_id: 8_000_000_000_000_005,
  user_id: 8_000_000_000_000_006,
  collaborator_id: 8_000_000_000_000_007,
  role_id: 8_000_000_000_000_008,
  token_id: 8_000_000_000_000_009,
  invitation_id: 8_000_000_000_000_603,
  import_id: 8_000_000_000_000_010,
  reservation_id: 8_000_000_000_000_011,
  suppression_id: 8_000_000_000_000_012,
  group_id: 8_000_000_000_000_013,
  member_id: 8_000_000_000_000_014,
  chat_number_id: 8_000_000_000_000_015,
  template_id: 8_000_000_000_000_016,
  campaign_id: 8_000_000_000_000_017,
  recipient_id: 8_000_000_000_000_018,
  reply_id: 8_000_000_000_000_099,
  free_chat_number_id: 8_000_000_000_000_101,
  free_template_id: 8_000_000_000_000_102,
  chat_flow_id: 8_000_000_000_000_103,
  automation_flow_id: "80000000-0000-4000-8000-000000000104",
  queued_call_id: 8_000_000_000_000_201,
  live_call_id: 8_000_000_000_000_202,
  ended_call_id: 8_000_000_000_000_203,
  call_campaign_id: 8_000_000_000_000_204,
  voice_campaign_id: 8_000_000_000_000_205,
  voice_call_id: 8_000_000_000_000_206,
  voice_file_id: 8_000_000_000_000_401,
  voice_menu_id: 8_000_000_000_000_402,
  ai_agent_id: 8_000_000_000_000_403,
  extension_id: 8_000_000_000_000_301,
  agent_group_id: 8_000_000_000_000_302,
  agent_member_id: 8_000_000_000_000_303,
  owned_number: "999999999999999",
  agent_number: "999999999999998",
  account_id: 8_000_000_000_000_306,
  voice_node_id: 8_000_000_000_000_304,
  trunk_id: 8_000_000_000_000_305,
  erasure_id: 8_000_000_000_000_601,
  saved_view_id: 8_000_000_000_000_602,
  callback_endpoint_id: 8_000_000_000_000_501,
  callback_delivery_id: 8_000_000_000_000_502,
  callback_replay_id: 8_000_000_000_000_503,
};

type Seeder = (api: TestApi, account: TestAccount, mark: string) => Promise<Partial<Ids>>;

/** Each creates its resources independently of the others. */
const seeders: readonly Seeder[] = [
  async (_api, { workspace_id }) => ({ workspace_id }),
  seedPicklistOption,
  seedCustomField,
  seedContact,
  seedLead,
  seedUser,
  seedRole,
  seedInvitation,
  seedImport,
  seedReservation,
  seedAudience,
  seedChat,
  seedChatContent,
  seedCalls,
  seedVoiceCampaign,
  seedVoiceContent,
  seedTelephony,
  seedErasure,
  seedSavedView,
  seedCallbacks,
];

/** Creates one resource of each kind in the account; every name and text contains `mark`. */
export async function seedIds(api: TestApi, account: TestAccount, mark: string): Promise<Ids> {
  return (await openSeed(api, account, mark)).ids();
}

export type Seed = {
  /** Returns the current IDs. */
  ids(): Ids;
  /** Replaces the resources of these IDs. */
  reseed(names: readonly (keyof Ids)[]): Promise<void>;
};

/** Creates the same as `seedIds`, and can replace what a test has used up. */
export async function openSeed(api: TestApi, account: TestAccount, mark: string): Promise<Seed> {
  await makeCustomField(api.app, account, { key: "note", type: "text" });
  await allowCalls(api, account);
  const parts: Partial<Ids>[] = [];
  for (const seed of seeders) parts.push(await seed(api, account, mark));
  return {
    ids: () => Object.assign({}, ...parts) as Ids,
    async reseed(names) {
      for (const [i, part] of parts.entries()) {
        if (names.some((name) => name in part)) parts[i] = await seeders[i]!(api, account, mark);
      }
    },
  };
}

function uniquePhone(first_digit: number): string {
  return `${first_digit}${unique("").slice(1).padStart(9, "0")}`;
}

async function seedPicklistOption({ app }: TestApi, account: TestAccount, mark: string) {
  const option = { picklist: "status", value: unique(`${mark}-option`) } as const;
  return { option_id: await makeOption(app, account, option) };
}

async function seedCustomField({ app }: TestApi, account: TestAccount, mark: string) {
  const key = unique(`${mark}_field`).replaceAll("-", "_");
  return { field_id: await makeCustomField(app, account, { key, type: "text" }) };
}

async function seedContact({ app }: TestApi, account: TestAccount, mark: string) {
  const contact = { phone: uniquePhone(8), name: `${mark} contact` };
  return { contact_id: await makeContact(app, account, contact) };
}

async function seedUser({ app }: TestApi, account: TestAccount) {
  const user_id = await makeUser(app, account);
  const token = await makeToken(app, account, { kind: "agent", user_id });
  return { user_id, token_id: Number(token.split("_")[2]) };
}

/** Gives the account a trunk, call credit and no calling window. */
async function allowCalls({ app }: TestApi, account: TestAccount): Promise<void> {
  await makeCredits(app, account, { call: 1_000 });
  await setCalling(app, account, { night_calling: true });
  await makeSandboxTrunk(app, account);
}

async function seedChat({ app }: TestApi, account: TestAccount, mark: string) {
  await makeCredits(app, account, { chat: 1_000 });
  const number = await makeChatNumber(app, account);
  const template_id = await makeChatTemplate(app, account, number);
  const recipient = { phone: "919876543210", variables: { "1": mark } };
  const id = await makeChatCampaign(app, account, number, template_id, [recipient]);
  const db = app.db.query;
  const { account_id } = account;
  await db
    .updateTable("chat_campaigns")
    .set({ name: `${mark} campaign` })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  await db
    .updateTable("chat_counts")
    .set({ queued: 0, unknown: 1 })
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .execute();
  const { id: recipient_id } = await db
    .updateTable("chat_recipients")
    .set({
      state: "unknown",
      due_at: new Date(),
      dispatches: 1,
      dispatched_at: new Date(0),
      provider_message_id: unique("wamid"),
    })
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .returning("id")
    .executeTakeFirstOrThrow();
  const { id: reply_id } = await db
    .insertInto("chat_replies")
    .values({
      account_id,
      chat_number_id: number.id,
      provider_message_id: unique("reply"),
      phone: recipient.phone,
      type: "text",
      text: `${mark} reply`,
      campaign_id: id,
      recipient_id,
      opted_out: false,
      received_at: app.clock.now(),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { chat_number_id: number.id, template_id, campaign_id: id, recipient_id, reply_id };
}

async function seedLead(api: TestApi, account: TestAccount, mark: string) {
  const { account_id, workspace_id, token } = account;
  const json = { phone: uniquePhone(9), name: `${mark} lead` };
  const path = `/api/v1/crm/workspaces/${workspace_id}/leads/create`;
  const answer = await api.send("POST", path, { token, json });
  if (answer.status !== 201) throw new Error(`the lead was not created: ${answer.text}`);
  const lead_id = answer.body.id as number;
  const collaborator_id = await makeUser(api.app, account);
  await api.app.db.query
    .insertInto("lead_collaborators")
    .values({ account_id, lead_id, user_id: collaborator_id, added_at: api.app.clock.now() })
    .execute();
  return { lead_id, collaborator_id };
}

async function seedRole({ app }: TestApi, { account_id }: TestAccount, mark: string) {
  const now = app.clock.now();
  const name = unique(`${mark} role`);
  const { id: role_id } = await app.db.query
    .insertInto("roles")
    .values({ account_id, name, permissions: [], created_at: now, updated_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { role_id };
}

async function seedInvitation({ app }: TestApi, { account_id }: TestAccount, mark: string) {
  const now = app.clock.now();
  const { id: invitation_id } = await app.db.query
    .insertInto("invitations")
    .values({
      account_id,
      email: `${unique(mark)}@test.example`,
      secret_sha256: Buffer.alloc(32),
      expires_at: new Date(now.getTime() + 3_600_000),
      created_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { invitation_id };
}

async function seedSavedView({ app }: TestApi, account: TestAccount, mark: string) {
  const { account_id, owner_id: user_id } = account;
  const now = app.clock.now();
  const { id: saved_view_id } = await app.db.query
    .insertInto("saved_views")
    .values({
      account_id,
      user_id,
      page: "leads",
      name: unique(`${mark} view`),
      search: JSON.stringify({ q: mark }),
      columns: ["name"],
      shared: true,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { saved_view_id };
}

async function seedAudience(
  api: TestApi,
  { account_id }: TestAccount,
  mark: string,
): Promise<Pick<Ids, "suppression_id" | "group_id" | "member_id">> {
  const phone = `91${uniquePhone(9)}`;
  const db = api.app.db.query;
  const created_at = api.app.clock.now();
  const suppression = await db
    .insertInto("suppressions")
    .values({
      account_id,
      person_key: phone,
      phone,
      channel: "chat",
      scope: "all",
      reason: mark,
      source: "manual",
      occurred_at: created_at,
      created_at,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const group = await db
    .insertInto("groups")
    .values({ account_id, name: unique(`${mark} group`), created_at, updated_at: created_at })
    .returning("id")
    .executeTakeFirstOrThrow();
  // Not suppressed, so that a campaign for the group has a recipient.
  const member = await db
    .insertInto("group_members")
    .values({
      account_id,
      group_id: group.id,
      phone_key: `92${phone.slice(2)}`,
      phone: `92${phone.slice(2)}`,
      name: `${mark} member`,
      created_at,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { suppression_id: suppression.id, group_id: group.id, member_id: member.id };
}

async function seedErasure({ app }: TestApi, { account_id }: TestAccount) {
  const now = app.clock.now();
  const { id: erasure_id } = await app.db.query
    .insertInto("erasures")
    .values({
      account_id,
      phone_shown: "**********10",
      state: "done",
      requested_at: now,
      finished_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { erasure_id };
}

async function seedReservation({ app }: TestApi, account: TestAccount, mark: string) {
  const { account_id } = account;
  await makeCredits(app, account, { chat: 1 });
  const reservation = { account_id, kind: "chat", subject: unique(`${mark}:`), amount: 1 } as const;
  const reservation_id = await app.db.query
    .transaction()
    .execute((tx) => reserveCredits(tx, reservation, app.clock.now()));
  return { reservation_id };
}

async function seedImport(api: TestApi, account: TestAccount, mark: string) {
  const { account_id, workspace_id, owner_id: created_by } = account;
  const now = api.app.clock.now();
  const { id: import_id } = await api.app.db.query
    .insertInto("lead_imports")
    .values({
      account_id,
      workspace_id,
      created_by,
      file_name: `${mark}.csv`,
      column_map: JSON.stringify({ phone: "Phone" }),
      header: ["Phone"],
      state: "completed",
      total_rows: 1,
      next_row: 2,
      rejected_count: 1,
      created_at: now,
      finished_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await api.app.db.query
    .insertInto("lead_import_rejects")
    .values({
      account_id,
      import_id,
      row_number: 1,
      cells: [`${mark} cell`],
      errors: JSON.stringify([{ field: "phone", reason: "must be exactly 10 digits" }]),
    })
    .execute();
  return { import_id };
}
