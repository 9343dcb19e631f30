// A page of a list whose rows may be large ends by bytes, and the next one goes on behind its last row.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { page_bytes_max } from "../server/lib/database/cursor.ts";
import { routeRows } from "./matrix/route-rows.ts";
import { seedIds, type Ids } from "./matrix/seed-ids.ts";
import { makeAccount, type TestAccount } from "./support/account-factory.ts";
import { startApi, type TestApi } from "./support/api.ts";
import { fillLists } from "./support/fill-lists.ts";

const row_bytes = 500_000;
const large = `repeat('x', ${row_bytes})`;

/** Lists with the SQL that makes each of their rows large. */
const lists: Readonly<Record<string, string>> = {
  listAiAgents: `update voice_ai_agents set plan = plan::jsonb || jsonb_build_object('greeting', ${large})`,
  listVoiceMenus: `update voice_menus set graph = graph::jsonb || jsonb_build_object('nodes',
    jsonb_build_object('main', jsonb_build_object('say', ${large})))`,
  listVoiceFiles: `update voice_files set text = ${large}`,
  listVoiceRecipients: `update voice_recipients set variables = jsonb_build_object('name', ${large})`,
  listCalls: `update calls set collected = jsonb_build_object('name', ${large})`,
  listGroupMembers: `update group_members set variables = jsonb_build_object('name', ${large})`,
  listSuppressions: `update suppressions set evidence = jsonb_build_object('text', ${large})`,
  listChatFlows: `update chat_flows set opening = opening::jsonb || jsonb_build_object('body', ${large})`,
  listAutomationFlows: `update automation_flows set opening = opening::jsonb || jsonb_build_object('body', ${large})`,
  listChatTemplates: `update chat_templates set variable_defaults = jsonb_build_object('1', ${large})`,
  listChatRecipients: `update chat_recipients set variables = jsonb_build_object('1', ${large})`,
  listChatReplies: `update chat_replies set text = ${large}`,
  listLeads: `update leads set custom_fields = jsonb_build_object('note', ${large})`,
  listLeadTimeline: `update lead_timeline set data = jsonb_build_object('text', ${large})`,
  listLeadImports: `update lead_imports set column_map = jsonb_build_object('phone', ${large})`,
  listLeadRejects: `update lead_import_rejects set cells = array[${large}]`,
  listPersonTimeline: "",
};

/** Exports of these lists. */
const exported: Readonly<Record<string, string>> = {
  exportVoiceRecipients: "listVoiceRecipients",
  exportCalls: "listCalls",
  exportSuppressions: "listSuppressions",
  exportChatRecipients: "listChatRecipients",
  exportChatReplies: "listChatReplies",
  exportLeads: "listLeads",
};

let api: TestApi;
let account: TestAccount;
let ids: Ids;
let phone: string;
/** The rows of each list before they were large. */
const small = new Map<string, readonly string[]>();

before(async () => {
  api = await startApi();
  api.clock.set(new Date());
  account = await makeAccount(api.app);
  ids = await seedIds(api, account, "large");
  const db = new pg.Client({ connectionString: api.database_url });
  await db.connect();
  await fillLists(db, { ...ids, ...account }, 45);
  await db.query("update voice_files set active = true");
  phone = (await db.query("select phone from leads where id = $1", [ids.lead_id])).rows[0].phone;
  await db.query(
    `update chat_replies set phone = $1 where account_id = $2
      and id in (select id from chat_replies where account_id = $2 order by id desc limit 10)`,
    [`91${phone}`, account.account_id],
  );
  for (const id of Object.keys(lists)) {
    const { pages } = await readPages(id);
    assert.equal(pages.length, 1, `${id}: small rows are one page`);
    small.set(id, pages[0]!.rows);
  }
  for (const enlarge of Object.values(lists)) if (enlarge) await db.query(enlarge);
  await db.end();
});
after(() => api.close());

function pathOf(id: string): string {
  const [path] = routeRows.get(id)!.request(ids).path.split("?") as [string];
  return id === "listPersonTimeline" ? `${path}?phone_number=${phone}` : path;
}

type Row = Readonly<Record<string, unknown>> & { readonly data?: { readonly reply_id?: number } };

/** What identifies a row of any list. */
const keyOf = ({ id, call_id, row, at, kind, data }: Row) =>
  JSON.stringify([id, call_id, row, at, kind, data?.reply_id]);

/** Reads a list to its end. */
async function readPages(id: string) {
  const pages: { rows: string[]; bytes: number }[] = [];
  const path = pathOf(id);
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = `${path.includes("?") ? "&" : "?"}limit=200${cursor && `&cursor=${cursor}`}`;
    const { status, body, text } = await api.send("GET", path + query, account);
    assert.equal(status, 200, text);
    pages.push({ rows: body.data.map(keyOf), bytes: Buffer.byteLength(text) });
    cursor = body.next_cursor ?? body.nextCursor ?? null;
  }
  return { pages };
}

for (const id of Object.keys(lists)) {
  test(`pages of ${id} with large rows have few megabytes and miss no row`, async () => {
    const { pages } = await readPages(id);
    assert.deepEqual(
      pages.flatMap(({ rows }) => rows),
      small.get(id),
    );
    const largest = Math.max(...pages.map(({ bytes }) => bytes));
    assert.ok(largest < page_bytes_max + 2 * row_bytes, `${largest} bytes`);
    assert.ok(pages.length > 1);
    assert.ok(pages.every(({ rows }) => rows.length > 0));
  });
}

/** Reads the lines of an export, without the header. */
async function readExport(id: string): Promise<string[]> {
  const [path] = routeRows.get(id)!.request(ids).path.split("?") as [string];
  const { status, text } = await api.send("GET", path, account);
  assert.equal(status, 200);
  return text.trimEnd().split("\r\n").slice(1);
}

for (const [id, list] of Object.entries(exported)) {
  test(`${id} with large rows misses no row`, async () => {
    assert.equal((await readExport(id)).length, small.get(list)!.length);
  });
}
