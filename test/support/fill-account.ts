// Gives an account rows in every table that moves with it, by the factories as far as there are any.
import { randomBytes } from "node:crypto";
import { makeCredits, makeUser, unique, type TestAccount } from "./account-factory.ts";
import type { TestApi } from "./api.ts";
import { makeDelivery, makeEndpoint } from "./callback-factory.ts";
import { makeAutomationFlow, makeChatFlow } from "./chat-factory.ts";
import { fillPerson } from "./fill-person.ts";
import { testSecrets } from "./secrets.ts";
import {
  makeAgentGroup,
  makeAgentNumber,
  makeExtension,
  makePhoneNumber,
} from "./telephony-factory.ts";
import { makeFullVoiceFile } from "./voice-file-factory.ts";

/** The endpoint's secret, as its owner knows it, and the phone number of the account. */
export type Filled = {
  readonly endpoint_id: number;
  readonly secret: Buffer;
  readonly number: string;
};

/** Fills an account. A table that is new and moves needs a row here. */
export async function fillAccount(api: TestApi, owner: TestAccount): Promise<Filled> {
  const { app } = api;
  await makeCredits(app, owner, { chat: 100, call: 100 });
  const endpoint = await makeEndpoint(app, owner);
  await fillPerson(api, owner, { phone: "919876543210", bsuid: "IN.1", country_code: "91" });
  await makeChatFlow(app, owner);
  await makeAutomationFlow(app, owner);
  await makeExtension(app, owner, "101");
  await makeAgentGroup(app, owner, ["9800000003", "9800000004"]);
  await makeAgentNumber(app, owner, "919800000005");
  await makeFullVoiceFile(app, owner);
  const number = `9180${String(owner.account_id).padStart(8, "0")}`;
  await makePhoneNumber(app, owner, number);
  await makeDelivery(app, owner, endpoint.id, { state: "failed", attempts: [500, "timeout"] });
  const user_id = await makeUser(app, owner, ["crm.read"]);
  await fillOthers(api, owner, { user_id, endpoint_id: endpoint.id });
  return { endpoint_id: endpoint.id, secret: endpoint.secret, number };
}

type Made = { readonly user_id: number; readonly endpoint_id: number };

/** Rows without a factory. */
async function fillOthers(api: TestApi, owner: TestAccount, made: Made): Promise<void> {
  const at = api.clock.now();
  const { account_id } = owner;
  const { pool } = api.app.db;
  const insert = async (table: string, row: Readonly<Record<string, unknown>>) => {
    const entries = Object.entries({ account_id, ...row });
    const names = entries.map(([name]) => name).join(", ");
    const places = entries.map((_, i) => `$${i + 1}`).join(", ");
    const { rows } = await pool.query<{ id?: number }>(
      `insert into ${table} (${names}) values (${places}) returning *`,
      entries.map(([, value]) => value),
    );
    return rows[0]!.id ?? 0;
  };
  const idOf = async (table: string) => {
    const { rows } = await pool.query<{ id: number }>(
      `select id from ${table} where account_id = $1 order by id limit 1`,
      [account_id],
    );
    return rows[0]!.id;
  };
  const seal = (column: string, id: number, plain: string) =>
    testSecrets.seal({ column, account_id, id }, plain);
  const { user_id, endpoint_id } = made;
  const call_id = await idOf("calls");
  const stamps = { created_at: at, updated_at: at };
  const link = { secret_sha256: randomBytes(32), expires_at: at, created_at: at };
  await insert("user_passwords", { user_id, password_hash: "scrypt$x", changed_at: at });
  await insert("sign_in_links", { user_id, origin: "user", created_by: user_id, ...link });
  await insert("invitations", { email: "new@test.example", ...link });
  await insert("user_totp", {
    user_id,
    secret: seal("user_totp.secret", user_id, "totp"),
    recovery_codes: [randomBytes(8), randomBytes(8)],
    created_at: at,
  });
  await insert("user_passkeys", {
    user_id,
    credential_id: unique("credential"),
    public_key: randomBytes(32),
    counter: 3,
    transports: ["usb", 'a"b\\c'],
    name: "Key\tof\nmine",
    created_at: at,
  });
  await insert("lead_collaborators", { lead_id: await idOf("leads"), user_id, added_at: at });
  await insert("leases", { name: "chat_sender:1", fence: 1_700_000_000_123, expires_at: at });
  await insert("rate_windows", { endpoint: "test", began_at: at, count: 3 });
  await insert("retention_positions", { setting: "calls", at });
  await insert("whatsapp_credentials", {
    access_token: seal("whatsapp_credentials.access_token", 0, "EAAB"),
    ...stamps,
  });
  await insert("chat_holds", { scope: "account", subject_id: 0, reason: "manual", set_at: at });
  const arrived = { received_at: at, due_at: at };
  await insert("chat_inbox", { chat_number_id: 1, driver: "whatsapp", body: "[]", ...arrived });
  await insert("away_agents", { number: "9800000003", since: at });
  await insert("live_customers", { phone_key: "919800000009", call_id });
  await insert("refused_calls", { node_id: 1, channel: "1764300000.7", recorded_at: at });
  const requested = { requested_by: user_id, created_at: at };
  await insert("call_commands", { call_id, node_id: 1, kind: "hangup", ...requested });
  await insert("voice_holds", {
    campaign_id: await idOf("voice_campaigns"),
    reason: "manual",
    set_at: at,
  });
  const span = { from_at: at, to_at: at, reached_at: at, created_at: at };
  await insert("callback_replays", {
    endpoint_id,
    include: "all",
    state: "failed",
    finished_at: at,
    ...span,
  });
  const erasure_id = await insert("erasures", {
    phone_shown: "91…10",
    state: "done",
    requested_at: at,
    finished_at: at,
  });
  await insert("erasure_records", { erasure_id, record_id: 1, kind: "lead" });
}
