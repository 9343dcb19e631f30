// Creates nodes, trunks, extensions, agent groups and accounts that may call.
import type { App } from "../../server/engine/app.ts";
import { phoneKey } from "../../server/lib/phone-key.ts";
import { makeAccount, makeCredits, unique, type TestAccount } from "./account-factory.ts";

type Account = Pick<TestAccount, "account_id">;

/** Creates a node, by default an active, unconnected sandbox node; returns its ID. */
export async function makeNode(
  app: Pick<App, "db" | "clock">,
  more: {
    driver?: "sandbox" | "asterisk";
    active?: boolean;
    connected?: boolean;
    calls_per_second?: number;
    calls_max?: number;
    /** The ARI settings of an Asterisk; by default nothing listens there. */
    ari_url?: string;
    ari_user?: string;
    ari_password?: string;
    ari_app?: string;
    cdr_path?: string;
    sounds_dir?: string;
  } = {},
): Promise<number> {
  const now = app.clock.now();
  const { driver = "sandbox", connected = false, ...rest } = more;
  const ari = {
    ari_url: "http://127.0.0.1:1/ari",
    ari_user: "trunkline",
    ari_password: "secret",
    ari_app: unique("app"),
  };
  const { id } = await app.db.query
    .insertInto("voice_nodes")
    .values({
      name: unique("node"),
      driver,
      ...(driver === "asterisk" ? ari : {}),
      calls_per_second: 1_000,
      calls_max: 10_000,
      connected_at: connected ? now : null,
      created_at: now,
      updated_at: now,
      ...rest,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Creates a trunk on these nodes, by default for every account, any caller ID and with the highest limits; returns its ID. */
export async function makeTrunk(
  app: Pick<App, "db" | "clock">,
  nodes: readonly number[],
  more: {
    endpoint?: string;
    only_account_id?: number;
    number_format?: "e164" | "plus_e164" | "national";
    number_prefix?: string;
    caller_ids?: string[];
    caller_ids_only?: boolean;
    agent_numbers?: "verified" | "any";
    destinations?: string[];
    fallback_trunk_id?: number;
    active?: boolean;
    /** The trunk's limits on each node. */
    limits?: { calls_per_second?: number; calls_max?: number };
  } = {},
): Promise<number> {
  const now = app.clock.now();
  const { limits = {}, ...rest } = more;
  const { id } = await app.db.query
    .insertInto("trunks")
    .values({
      name: unique("trunk"),
      endpoint: "sandbox",
      number_format: "e164",
      caller_ids_only: false,
      agent_numbers: "any",
      created_at: now,
      updated_at: now,
      ...rest,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  if (nodes.length === 0) return id;
  const room = { calls_per_second: 1_000, calls_max: 10_000, ...limits };
  await app.db.query
    .insertInto("trunk_nodes")
    .values(nodes.map((node_id) => ({ trunk_id: id, node_id, ...room })))
    .execute();
  return id;
}

/** Creates a sandbox node with a trunk, exclusive to the account if one is given. */
export async function makeSandboxTrunk(
  app: Pick<App, "db" | "clock">,
  account?: Account,
): Promise<{ node_id: number; trunk_id: number }> {
  const node_id = await makeNode(app, { connected: true });
  const only = account ? { only_account_id: account.account_id } : {};
  return { node_id, trunk_id: await makeTrunk(app, [node_id], only) };
}

/** Creates an account that may call at any time and as often as it likes, with 1,000 call credits by default. */
export async function makeCallingAccount(
  app: Pick<App, "db" | "clock">,
  more: { credits?: number } = {},
): Promise<TestAccount> {
  const account = await makeAccount(app, { features: ["calls", "voice"] });
  await setCalling(app, account, {
    night_calling: true,
    calls_per_customer_day: null,
    call_destinations_allowed: ["*"],
    call_caps: "{}",
  });
  await makeCredits(app, account, { call: more.credits ?? 1_000 });
  return account;
}

/** Updates the account's call settings, by column. */
export async function setCalling(
  app: Pick<App, "db">,
  { account_id }: Account,
  settings: {
    night_calling?: boolean;
    calling_from?: string;
    calling_to?: string;
    time_zone?: string;
    country_code?: string;
    call_destinations_allowed?: string[] | null;
    call_destinations?: string[] | null;
    /** JSON. */
    call_caps?: string;
    calls_recorded?: boolean;
    calls_per_customer_day?: number | null;
    agent_ring_seconds?: number;
    customer_ring_seconds?: number;
    call_pulse_seconds?: number;
    talk_minutes_max?: number;
    accept_voice_file_id?: number;
    busy_voice_file_id?: number | null;
  },
): Promise<void> {
  await app.db.query
    .updateTable("accounts")
    .set(settings)
    .where("account_id", "=", account_id)
    .execute();
}

/** Creates an agent's extension with an endpoint of the same name. */
export async function makeExtension(
  app: Pick<App, "db" | "clock">,
  { account_id }: Account,
  extension: string,
  more: { digit?: string; user_id?: number; endpoint?: string } = {},
): Promise<number> {
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("extensions")
    .values({
      account_id,
      extension,
      name: `Phone ${extension}`,
      endpoint: extension,
      created_at: now,
      updated_at: now,
      ...more,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Creates an agent group in this order; returns its ID. */
export async function makeAgentGroup(
  app: Pick<App, "db" | "clock">,
  { account_id }: Account,
  numbers: readonly string[] = [],
): Promise<number> {
  const created_at = app.clock.now();
  const { id: group_id } = await app.db.query
    .insertInto("agent_groups")
    .values({ account_id, name: unique("agents"), created_at, updated_at: created_at })
    .returning("id")
    .executeTakeFirstOrThrow();
  if (numbers.length > 0) {
    await app.db.query
      .insertInto("agent_group_members")
      .values(
        numbers.map((number, i) => ({ account_id, group_id, number, position: i + 1, created_at })),
      )
      .execute();
  }
  return group_id;
}

/** Lets a phone be rung as an agent of the account; E.164 digits. */
export async function makeAgentNumber(
  app: Pick<App, "db" | "clock">,
  { account_id }: Account,
  number: string,
): Promise<void> {
  const row = { account_id, number, phone_key: phoneKey(number), created_at: app.clock.now() };
  await app.db.query.insertInto("agent_numbers").values(row).execute();
}

/** Assigns a phone number (E.164 digits) to the account. */
export async function makePhoneNumber(
  app: Pick<App, "db" | "clock">,
  { account_id }: Account,
  number: string,
): Promise<void> {
  const row = { number, account_id, assigned_at: app.clock.now() };
  await app.db.query.insertInto("phone_numbers").values(row).execute();
}
