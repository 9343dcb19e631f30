// The demo: what a newcomer needs to try every endpoint, created once on an empty database.
import { randomBytes } from "node:crypto";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { sql } from "kysely";
import { createAccount } from "../accounts/accounts/create-account.ts";
import { storePassword } from "../accounts/sessions/set-password.ts";
import { hashPassword } from "../accounts/sessions/passwords.ts";
import { createToken, type NewToken } from "../accounts/tokens/create-token.ts";
import {
  features,
  permissionNames,
  type Feature,
  type Permission,
} from "../accounts/permissions.ts";
import { insertWorkspace } from "../crm/workspaces/insert-workspace.ts";
import type { Database, Tx } from "../lib/database/database.ts";
import { e164 } from "../lib/phone-numbers.ts";
import { demoFile, type Demo } from "./demo-file.ts";
import { seedCallAgents, seedCallingTime, seedSandboxTrunk } from "./seed-calls.ts";
import { seedAudience, seedChat, seedCredits, seedFlows } from "./seed-chat.ts";
import { seedCsv, seedVoice } from "./seed-voice.ts";

/** Seeds an empty database and writes `demo.json` (mode 0600); returns null if any account exists. */
export async function seedDemo(
  db: Database,
  dataDir: string,
  baseUrl: string,
  now: Date,
): Promise<Demo | null> {
  return db.query.transaction().execute(async (tx) => {
    // Of two processes that start at once on an empty database, only one seeds it.
    await sql`select pg_advisory_xact_lock(${seed_lock_key}::bigint)`.execute(tx);
    // Or Citus refuses to change a reference table after the tables of an account.
    await sql`set local citus.multi_shard_modify_mode = 'sequential'`.execute(tx);
    const existing = await tx.selectFrom("accounts").select("account_id").limit(1).execute();
    if (existing.length > 0) return null;
    // Before the commit: tokens are unrecoverable, so they are never committed without their file.
    await mkdir(dataDir, { recursive: true });
    const demo: Demo = { ...(await seed(tx, baseUrl, now)), ...(await seedCsv(dataDir)) };
    await writeFile(demoFile(dataDir), `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
    await chmod(demoFile(dataDir), 0o600);
    return demo;
  });
}

/** An arbitrary fixed key of the advisory lock. */
const seed_lock_key = 7_286_542_002;

async function seed(
  tx: Tx,
  base_url: string,
  now: Date,
): Promise<Omit<Demo, "csv_file" | "csv_number_column">> {
  const accountOf = (name: string, may: readonly Feature[], owner: string, slug: string) => {
    const account = { name, features: may, owner: { name: owner, email: `owner@${slug}.example` } };
    return createAccount(tx, account, now);
  };
  const main = await accountOf("Demo", features, "Olivia Owner", "demo");
  const other = await accountOf("Demo, second account", ["crm"], "Oscar Other", "other");
  const low = await accountOf("Demo, low on credit", ["bulk_chat", "calls"], "Lou Low", "low");
  const night = await accountOf("Demo, restricted at night", ["calls"], "Nora Night", "night");
  const workspace_id = await insertWorkspace(tx, main.account_id, { name: "Sales" }, now);
  const inactive_workspace_id = await insertWorkspace(
    tx,
    main.account_id,
    { name: "Archive", active: false },
    now,
  );
  const other_workspace_id = await insertWorkspace(tx, other.account_id, { name: "Sales" }, now);
  const { agent_id, tokens } = await seedAgents(tx, main, other, now);
  const low_credit = (await createToken(tx, accountToken(low, "low_credit"), now)).token;
  const restricted = await createToken(tx, accountToken(night, "night_restricted"), now);
  const chat = await seedChat(tx, main.account_id, { chat: 1_000_000, call: 100_000 }, now);
  const lowChat = await seedChat(tx, low.account_id, { chat: 2 }, now);
  await seedCredits(tx, night.account_id, { call: 1_000 }, now);
  await seedSandboxTrunk(tx, now);
  for (const { account_id } of [main, low]) await seedCallingTime(tx, account_id, "always");
  await seedCallingTime(tx, night.account_id, "never");
  return {
    base_url,
    console: await seedPassword(tx, main, now),
    tokens: { ...tokens, low_credit, night_restricted: restricted.token },
    workspace_id,
    inactive_workspace_id,
    other_workspace_id,
    status_id: await optionId(tx, main.account_id, workspace_id, "status", "contacted"),
    source_id: await optionId(tx, main.account_id, workspace_id, "source", "website"),
    priority_id: await optionId(tx, main.account_id, workspace_id, "priority", "high"),
    contact_id: await seedContact(tx, main.account_id, workspace_id, now),
    custom_field_key: await seedCustomField(tx, main.account_id, workspace_id, now),
    agent_id,
    ...chat,
    ...(await seedFlows(tx, main.account_id, now)),
    ...(await seedAudience(tx, main.account_id, now)),
    ...(await seedCalled(tx, main, agent_id, now)),
    low_credit_chat_number_id: lowChat.chat_number_id,
    low_credit_template_id: lowChat.template_id,
  };
}

type Owned = { account_id: number; owner_id: number };

/** Creates the agents to ring and the audio to play. */
async function seedCalled(tx: Tx, main: Owned, agent_id: number, now: Date) {
  const agents = await seedCallAgents(tx, main.account_id, agent_id, now);
  const agent_group_id = Number(agents.agent_group_id);
  return { ...agents, ...(await seedVoice(tx, { ...main, agent_group_id }, now)) };
}

async function seedAgents(tx: Tx, main: Owned, other: Owned, now: Date) {
  const noVoice = permissionNames.filter((permission) => permission !== "voice.campaigns.create");
  const agentOf = (name: string, slug: string, permissions: readonly Permission[] | null) =>
    seedAgent(tx, { account_id: main.account_id, name, slug, permissions }, now);
  const agent = await agentOf("Asha Agent", "agent", permissionNames);
  const agentNoVoice = await agentOf("Nadia Novoice", "agent-no-voice", noVoice);
  const agentNoRole = await agentOf("Noel Norole", "agent-no-role", null);
  const noPermission = await agentOf("Petra Nothing", "no-permission", []);
  const day_ms = 86_400_000;
  const token = async (owned: Owned, name: string, more: Partial<NewToken> = {}) =>
    createToken(tx, { ...accountToken(owned, name), ...more }, now);
  const agentToken = (user_id: number, name: string) =>
    token(main, name, { kind: "agent", user_id });
  const revoked = await token(main, "revoked");
  await tx
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("account_id", "=", main.account_id)
    .where("id", "=", revoked.id)
    .execute();
  const tokens = {
    account: (await token(main, "account")).token,
    agent: (await agentToken(agent, "agent")).token,
    agent_no_voice: (await agentToken(agentNoVoice, "agent_no_voice")).token,
    agent_no_role: (await agentToken(agentNoRole, "agent_no_role")).token,
    no_permission: (await agentToken(noPermission, "no_permission")).token,
    other_account: (await token(other, "other_account")).token,
    expired: (await token(main, "expired", { expires_at: new Date(now.getTime() - day_ms) })).token,
    revoked: revoked.token,
  };
  return { agent_id: agent, tokens };
}

async function seedPassword(tx: Tx, { account_id, owner_id: user_id }: Owned, now: Date) {
  const password = randomBytes(12).toString("base64url");
  await storePassword(
    tx,
    { account_id, user_id, password_hash: await hashPassword(password, "127.0.0.1") },
    now,
  );
  return { email: "owner@demo.example", password };
}

function accountToken(owned: Owned, name: string): NewToken {
  return {
    account_id: owned.account_id,
    kind: "account",
    user_id: owned.owner_id,
    name,
    scopes: null,
    expires_at: null,
    created_by: owned.owner_id,
  };
}

/** Creates a user with a role of these permissions, or without a role. */
async function seedAgent(
  tx: Tx,
  agent: {
    account_id: number;
    name: string;
    slug: string;
    permissions: readonly Permission[] | null;
  },
  now: Date,
): Promise<number> {
  const { account_id, name, slug, permissions } = agent;
  const stamps = { created_at: now, updated_at: now };
  const role =
    permissions &&
    (await tx
      .insertInto("roles")
      .values({ account_id, name: slug, permissions: [...permissions], ...stamps })
      .returning("id")
      .executeTakeFirstOrThrow());
  const user = await tx
    .insertInto("users")
    .values({
      account_id,
      name,
      email: `${slug}@demo.example`,
      role_id: role?.id ?? null,
      ...stamps,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return user.id;
}

async function optionId(
  tx: Tx,
  accountId: number,
  workspaceId: number,
  picklist: string,
  value: string,
): Promise<number> {
  const { id } = await tx
    .selectFrom("picklist_options")
    .select("id")
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("picklist", "=", picklist)
    .where("value", "=", value)
    .executeTakeFirstOrThrow();
  return id;
}

async function seedContact(
  tx: Tx,
  account_id: number,
  workspace_id: number,
  now: Date,
): Promise<number> {
  const phone = "9000000001";
  const { id } = await tx
    .insertInto("contacts")
    .values({
      account_id,
      workspace_id,
      phone,
      phone_e164: e164(phone, "91"),
      name: "Carla Contact",
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

async function seedCustomField(
  tx: Tx,
  account_id: number,
  workspace_id: number,
  now: Date,
): Promise<string> {
  const key = "campaign_note";
  await tx
    .insertInto("custom_fields")
    .values({
      account_id,
      workspace_id,
      key,
      label: "Campaign note",
      type: "text",
      position: 0,
      created_at: now,
      updated_at: now,
    })
    .execute();
  return key;
}
