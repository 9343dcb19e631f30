// Fills every list of an account in depth with copies of the rows that the tenant matrix seeds. Most filters have a
// value that nearly all rows have, and one that only few rows have, at three quarters of them: far from both ends of the list.
import type pg from "pg";
import type { Ids } from "../matrix/seed-ids.ts";

/** Columns with SQL of a copy, in which `n` counts from 1; the others are copied, but for an identity. */
type Changes = Readonly<Record<string, string>>;

/** The few rows with a rare value. */
const rare_rows = 60;

/**
 * Gives the account `rows` rows of every list that the matrix seeds, and a fifth of that of its settings: the lists
 * without a filter.
 */
export async function fillLists(
  db: pg.Client,
  ids: Ids & { readonly account_id: number },
  rows: number,
): Promise<void> {
  const { account_id } = ids;
  await db.query("begin");
  await db.query("set local session_replication_role = replica");
  for (const [table, where, changes] of settingsOf(ids))
    await copy(db, table, `account_id = ${account_id} and ${where}`, changes, rows / 5);
  // An account has few workspaces, and a group of agents at most 200 members.
  const own = `account_id = ${account_id}`;
  await copy(db, "workspaces", own, named, 50);
  const members = { number: "n::text", position: "n" };
  await copy(
    db,
    "agent_group_members",
    `group_id = ${ids.agent_group_id} and ${own}`,
    members,
    199,
  );
  for (const [table, where, changes] of recordsOf(ids, rows))
    await copy(db, table, `account_id = ${account_id} and ${where}`, changes, rows);
  await db.query(
    `update groups set members_counted_at = updated_at, members_count = (
       select count(*) from group_members m where m.account_id = $1 and m.group_id = groups.id)
     where account_id = $1`,
    [account_id],
  );
  await db.query(
    `update agent_groups set members_counted_at = updated_at, members_count = (
       select count(*) from agent_group_members m where m.account_id = $1 and m.group_id = agent_groups.id)
     where account_id = $1`,
    [account_id],
  );
  // The matrix deletes the endpoint of the deliveries that were there before.
  await db.query(
    `delete from callback_deliveries d where account_id = $1 and not exists (
       select from callback_endpoints e where e.account_id = d.account_id and e.id = d.endpoint_id)`,
    [account_id],
  );
  await copy(db, "voice_nodes", "true", { name: "'node ' || n", active: "false" }, rows / 5);
  await copy(db, "trunks", "true", { name: "'trunk ' || n", active: "false" }, rows / 5);
  await db.query(
    `insert into voice_rejects (account_id, campaign_id, row, value, reason)
     select $1, $2, n, 'x', 'invalid' from generate_series(1, $3::int) n`,
    [account_id, ids.voice_campaign_id, rows],
  );
  await db.query(
    `insert into whatsapp_credentials (account_id, access_token, created_at, updated_at)
     select 1000000 + n, 'x', now(), now() from generate_series(1, $1::int) n`,
    [rows / 5],
  );
  await db.query("commit");
}

/** Copies one row that matches. */
async function copy(
  db: pg.Client,
  table: string,
  where: string,
  changes: Changes,
  rows: number,
): Promise<void> {
  const { rows: columns } = await db.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''
       and (attidentity = '' or attname = any($2::name[]))`,
    [table, Object.keys(changes)],
  );
  const names = columns.map(({ name }) => `"${name}"`);
  const values = columns.map(({ name }) => changes[name] ?? `s."${name}"`);
  const { rowCount } = await db.query(
    `insert into ${table} (${names.join(", ")})
     select ${values.join(", ")} from (select * from ${table} where ${where} limit 1) s,
       generate_series(1, ${rows}) g (n) order by g.n`,
  );
  if (rowCount !== rows) throw new Error(`${table} has no row to copy where ${where}`);
}

type Copy = readonly [table: string, where: string, changes: Changes];

const name = "'Depth ' || n";
const named = { name };
const phone = "(917000000000 + n)::text";

function settingsOf(ids: Ids): readonly Copy[] {
  return [
    ["roles", "true", named],
    ["tokens", `id = ${ids.token_id}`, {}],
    ["invitations", "true", { email: "'depth' || n || '@test.example'" }],
    ["leads", `id = ${ids.lead_id}`, { contact_id: `${ids.contact_id}` }],
    ["lead_timeline", `lead_id = ${ids.lead_id}`, {}],
    ["lead_imports", "true", {}],
    ["lead_import_rejects", "true", { row_number: "1 + n" }],
    [
      "chat_numbers",
      `id = ${ids.chat_number_id}`,
      { name, phone, provider_phone_number_id: "'depth' || n" },
    ],
    ["chat_flows", "true", named],
    ["automation_flows", "true", { ...named, id: "gen_random_uuid()" }],
    [
      "extensions",
      `id = ${ids.extension_id}`,
      { name, extension: "(200000 + n)::text", digit: "null" },
    ],
    ["agent_groups", `id = ${ids.agent_group_id}`, named],
    ["agent_numbers", "true", { number: phone, phone_key: phone }],
    ["phone_numbers", "true", { number: phone }],
    ["voice_menus", `id = ${ids.voice_menu_id}`, named],
    ["voice_ai_agents", `id = ${ids.ai_agent_id}`, named],
    ["groups", `id = ${ids.group_id}`, named],
    ["group_members", `group_id = ${ids.group_id}`, { phone, phone_key: phone }],
    ["erasures", `id = ${ids.erasure_id}`, {}],
  ];
}

function recordsOf(ids: Ids, rows: number): readonly Copy[] {
  const is_rare = `n between ${(rows * 3) / 4} and ${(rows * 3) / 4 + rare_rows - 1}`;
  const either = (rare: string, common: string) =>
    `case when ${is_rare} then ${rare} else ${common} end`;
  const oneOf = (values: readonly string[], common: string) =>
    either(`(array['${values.join("','")}'])[1 + n % ${values.length}]`, `'${common}'`);
  const campaign = `campaign_id = ${ids.campaign_id}`;
  const state = oneOf(
    [
      "queued",
      "deferred",
      "dispatching",
      "unknown",
      "accepted",
      "sent",
      "delivered",
      "refused",
      "unresolved",
      "skipped",
      "cancelled",
    ],
    "read",
  );
  /** Over the last 90 days. */
  const back_to = `now() - (${rows} - n) * interval '90 days' / ${rows}`;
  const ended = "('refused', 'unresolved', 'skipped', 'cancelled')";
  return [
    [
      "users",
      `id = ${ids.user_id}`,
      { name, email: "'depth' || n || '@test.example'", active: either("false", "true") },
    ],
    ["saved_views", "true", { name, page: either("'rare'", "'leads'") }],
    [
      "chat_templates",
      `id = ${ids.template_id}`,
      {
        name: either("'rare ' || n", name),
        status: oneOf(["PENDING", "REJECTED", "PAUSED", "DISABLED"], "APPROVED"),
        category: oneOf(["UTILITY", "AUTHENTICATION"], "MARKETING"),
        language: either("'hi'", "'en'"),
      },
    ],
    [
      "chat_campaigns",
      `id = ${ids.campaign_id}`,
      {
        name: either("'rare ' || n", name),
        state: oneOf(["cancelled", "failed", "scheduled"], "completed"),
        chat_number_id: either(`${ids.free_chat_number_id}`, "s.chat_number_id"),
        template_id: either(`${ids.free_template_id}`, "s.template_id"),
        created_at: back_to,
        finished_at: back_to,
      },
    ],
    [
      "chat_recipients",
      campaign,
      {
        phone,
        state,
        provider_message_id: "null",
        dispatched_at: "now()",
        due_at: `case when (${state}) in ('deferred', 'unknown') then now() end`,
        accepted_at: `case when (${state}) in ('accepted', 'sent', 'delivered', 'read') then now() end`,
        ended_at: `case when (${state}) in ${ended} then now() end`,
        error: `case when (${state}) in ${ended} then 'undeliverable' end`,
      },
    ],
    // Half of the replies are to the campaign, of which few opted out; the others all did.
    [
      "chat_replies",
      campaign,
      {
        phone: either("'917999999999'", phone),
        bsuid: either("'IN.RARE'", "'IN.' || n"),
        provider_message_id: "'depth' || n",
        campaign_id: "case when n % 2 = 0 then s.campaign_id end",
        opted_out: either("true", "n % 2 = 1"),
      },
    ],
    [
      "chat_holds",
      "scope = 'number'",
      {
        subject_id: "1000000 + n",
        scope: oneOf(["campaign", "template", "account"], "number"),
      },
    ],
    [
      "voice_campaigns",
      `id = ${ids.voice_campaign_id}`,
      {
        id: "1000000 + n",
        public_id: "gen_random_uuid()",
        state: oneOf(["cancelled", "failed", "scheduled"], "completed"),
        call_type: oneOf(["obd_voice_call", "obd_smartvoice", "ai_bot"], "obd_ivr"),
        voice_file_id: either("s.voice_file_id + 1000000", "s.voice_file_id"),
        is_test: either("true", "false"),
        finished_at: "s.created_at",
      },
    ],
    [
      "voice_recipients",
      `campaign_id = ${ids.voice_campaign_id}`,
      {
        id: "10 + n",
        phone: either("'917999999999'", phone),
        state: oneOf(
          [
            "synthesizing",
            "waiting",
            "calling",
            "machine",
            "busy",
            "no_answer",
            "failed",
            "suppressed",
            "skipped",
            "cancelled",
          ],
          "answered",
        ),
        call_id: "null",
      },
    ],
    [
      "click_to_calls",
      `campaign_id = ${ids.call_campaign_id}`,
      { campaign_id: "1000000 + n", reference: "'usual'", to_group_id: "1" },
    ],
    [
      "calls",
      `id = ${ids.voice_call_id}`,
      {
        stage: "'ended'",
        queued_at: back_to,
        ended_at: back_to,
        status: oneOf(
          ["busy", "failed", "no-answer", "canceled", "queued", "ringing", "in-progress"],
          "completed",
        ),
        ended_reason: either("'rare'", "'hung_up'"),
        to_phone: either("'917999999999'", phone),
      },
    ],
    [
      "voice_files",
      `id = ${ids.voice_file_id}`,
      { name, status: oneOf(["processing", "rejected"], "ready"), active: "n > 1000" },
    ],
    [
      "callback_endpoints",
      `id = ${ids.callback_endpoint_id}`,
      {
        url: either("'https://example.com/rare'", "'https://example.com/' || n"),
        kind: either("'account'", "'campaign'"),
        enabled: either("false", "true"),
        deleted_at: "case when n % 2 = 1 then now() end",
      },
    ],
    [
      "callback_deliveries",
      `id = ${ids.callback_delivery_id}`,
      {
        event_id: "1000000 + n",
        seq: "1000000 + n",
        type: either("'lead.updated'", "s.type"),
        state: either("'failed'", "'delivered'"),
        call_id: either(`${ids.ended_call_id}`, "null"),
        created_at: back_to,
        finished_at: back_to,
      },
    ],
    [
      "callback_replays",
      `id = ${ids.callback_replay_id}`,
      {
        endpoint_id: either("s.endpoint_id + 1000000", "s.endpoint_id"),
      },
    ],
    [
      "suppressions",
      `id = ${ids.suppression_id}`,
      {
        phone,
        person_key: phone,
        source: oneOf(["import", "reply", "provider", "dtmf", "ai_call", "auto_block"], "manual"),
        channel: oneOf(["all", "voice"], "chat"),
        scope: either("'marketing'", "'all'"),
        // Half are lifted, the others in force.
        expires_at: `case when ${is_rare} then now() when n % 2 = 0 then s.created_at end`,
        lifted_at: `case when not (${is_rare}) and n % 2 = 0 then now() end`,
      },
    ],
  ];
}
