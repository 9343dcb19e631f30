// No page of a list reads more because more data lies behind it: every list of the API, with each of its filters and
// each pair of them, on an account in which some values match nearly all rows, few rows far from both ends, or none.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import type { Route } from "../server/api/route.ts";
import { routes } from "../server/api/routes.ts";
import { routeRows } from "./matrix/route-rows.ts";
import { seedIds, type Ids } from "./matrix/seed-ids.ts";
import { makeAccount, type TestAccount } from "./support/account-factory.ts";
import { startApi, type TestApi } from "./support/api.ts";
import { makeChatNumber, makeChatTemplate } from "./support/chat-factory.ts";
import { fillDepth } from "./support/fill-depth.ts";
import { fillLists } from "./support/fill-lists.ts";
import { openStatementsRead, type StatementRead } from "./support/statements-read.ts";
import { makeSandboxTrunk } from "./support/telephony-factory.ts";

const rows = 20_000;
const page_rows = 50;

/** What may read more, up to a limit whatever lies behind. The key is a list, or a list with some of its filters. */
const exceptions: Readonly<Record<string, { readonly rows_max: number; readonly reason: string }>> =
  {
    listPeople: {
      rows_max: 6_000,
      reason:
        "no index has a part of a name or the last digits of a number, and one would slow down the creation of leads: a " +
        "statement searches the newest 5,000 rows of one table, or looks up ten people in 500 groups and 200 campaigns",
    },
  };

let api: TestApi;
let account: TestAccount;
let ids: Ids;
let values: Readonly<Record<string, readonly unknown[]>>;
let watch: ReturnType<typeof openStatementsRead>;

before(async () => {
  api = await startApi();
  watch = openStatementsRead(api.app.db.pool);
  api.clock.set(new Date());
  account = await makeAccount(api.app);
  const number = await makeChatNumber(api.app, account);
  const template_id = await makeChatTemplate(api.app, account, number);
  const trunk = await makeSandboxTrunk(api.app, account);
  const db = new pg.Client({ connectionString: api.database_url });
  await db.connect();
  const place = { ...account, ...trunk, chat_number_id: number.id, template_id };
  await fillDepth([db], place, { rows, small_accounts: 20 });
  ids = await seedIds(api, account, "depth");
  await fillLists(db, { ...ids, ...account }, rows);
  // Deleted rows count as read until they are vacuumed.
  await db.query("vacuum analyze");
  values = await valuesOf(db);
  await db.end();
});
after(() => api.close());

/** Reads of one request that are beyond the limit. */
type Excess = { readonly key: string; readonly request: string; readonly statement: StatementRead };

const excesses: Excess[] = [];

/** A list is paged or searched. A report counts all that its days have, so it is not a list. */
const lists = routes.filter(
  (route) =>
    route.method === "GET" &&
    !route.url.includes("/reports/") &&
    ["limit", "q"].some((name) => name in queryOf(route).properties) &&
    !route.url.endsWith("/export"),
);

type Query = {
  readonly properties: Readonly<Record<string, { enum?: readonly string[]; type?: string }>>;
  readonly required?: readonly string[];
};

function queryOf(route: Route): Query {
  return (route.query as Query | undefined) ?? { properties: {} };
}

const filtersOf = (route: Route) =>
  Object.keys(queryOf(route).properties).filter(
    (name) => !["limit", "cursor", "format"].includes(name),
  );

/** Returns the values to try; those that match few rows first. */
function valuesFor(route: Route, filter: string): readonly unknown[] {
  const schema = queryOf(route).properties[filter]!;
  const known = values[`${route.id} ${filter}`] ?? values[filter] ?? schema.enum;
  const found = known ?? (schema.type === "boolean" ? [true, false] : undefined);
  assert.ok(found, `no values for ${filter} of ${route.id}: add them to valuesOf`);
  return found;
}

/** Values of the filters that are neither enums nor booleans; the key is a filter, or a filter of a list. */
async function valuesOf(db: pg.Client): Promise<typeof values> {
  const one = async (text: string) => (await db.query(text, [account.account_id])).rows[0];
  const optionsOf = async (picklist: string) => {
    const { options } = await one(
      `select array_agg(id order by position) as options from picklist_options
       where account_id = $1 and picklist = '${picklist}' and id <> ${ids.option_id}`,
    );
    return [options.at(-1), options[0]];
  };
  const lead = await one(
    "select contact_id, phone from leads where account_id = $1 order by id limit 1",
  );
  const delivery = await one(
    "select endpoint_id, event_id from callback_deliveries where account_id = $1 order by id limit 1",
  );
  const paid = await one(
    "select reservation_id from chat_campaigns where account_id = $1 order by id limit 1",
  );
  const voice = await one(
    "select voice_file_id from voice_campaigns where account_id = $1 limit 1",
  );
  const days_ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const none = 8_000_000_000_000_001;
  const rare_phone = ["+917999999999", "+917000000101", "+919999999999"];
  return {
    statusId: await optionsOf("status"),
    sourceId: await optionsOf("source"),
    priorityId: await optionsOf("priority"),
    assignedAgentId: [account.owner_id, none],
    contactId: [lead.contact_id, ids.contact_id],
    phone: [lead.phone, "6999999999"],
    createdFrom: [days_ago(63)],
    createdTo: [days_ago(60), days_ago(100)],
    from: [days_ago(63)],
    to: [days_ago(60), days_ago(100)],
    "listLeads q": ["person17@", "no such text", "60000000"],
    "listContacts q": ["Person 17", "no such text", "60000000"],
    q: ["rare", "no such text", "Depth 1", "60000000", "+917000000"],
    chat_number_id: [ids.free_chat_number_id, ids.chat_number_id],
    template_id: [ids.free_template_id, ids.template_id],
    language: ["hi", "en", "fr"],
    phone_number: rare_phone,
    bsuid: ["IN.RARE", "IN.NONE"],
    number: rare_phone,
    "listCalls number": [...rare_phone, "101"],
    error: ["undeliverable", "no_such_error"],
    "listVoiceRecipients reason": ["not_synthesized", "busy", "none"],
    "listChatReplies campaign_id": [ids.campaign_id, none],
    "listCalls campaign_id": [ids.voice_campaign_id, ids.call_campaign_id],
    "listChatHolds subject_id": [ids.free_chat_number_id, none],
    "listVoiceAttempts status": ["busy", "completed", "busy,failed"],
    "listCalls status": ["busy", "completed", "busy,failed"],
    voice_file_id: [voice.voice_file_id, none],
    reference: ["old", "usual", "none"],
    ended_reason: ["rare", "hung_up", "none"],
    to_group_id: [2, 1, none],
    account_id: [account.account_id, none],
    url: ["https://example.com/rare", "https://example.com/5", "https://example.com/none"],
    endpoint_id: [ids.callback_endpoint_id, delivery.endpoint_id, none],
    webhook_id: [`evt_${account.account_id}_${delivery.event_id}`],
    call_id: [ids.ended_call_id, none],
    page: ["rare", "leads", "none"],
    kinds: [["answer"], ["message", "reply", "call"]],
    reservation_id: [paid.reservation_id, none],
    action: ["role.created", "click_to_call.submitted", "none"],
    user_id: [account.owner_id, account.owner_id + 1, none],
    subject_id: ["1", "none"],
  };
}

for (const route of lists) {
  test(`a page of ${route.id} reads only its rows, whatever its filters`, async () => {
    const { required = [] } = queryOf(route);
    const filters = filtersOf(route);
    const found = new Map<string, number>();
    const read = async (given: Readonly<Record<string, unknown>>, pages = 2) => {
      const names = Object.keys(given);
      if (!required.every((name) => names.includes(name))) return;
      const key = names.join("+");
      found.set(key, (found.get(key) ?? 0) + (await readPages(route, given, pages)));
    };
    await read({});
    for (const [i, one] of filters.entries()) {
      for (const [at, value] of valuesFor(route, one).entries())
        await read({ [one]: value }, at === 0 ? pages_max : 2);
      for (const other of filters.slice(i + 1)) {
        const [value] = valuesFor(route, one);
        for (const with_value of valuesFor(route, other).slice(0, 2))
          await read({ [one]: value, [other]: with_value });
      }
    }
    const empty = [...found].filter(
      ([names, rows_found]) => !names.includes("+") && rows_found === 0,
    );
    assert.deepEqual(
      empty.map(([names]) => names),
      [],
      "no value of these finds a row",
    );
    const unexpected = excesses.filter(
      ({ key, statement }) =>
        key.startsWith(`${route.id} `) && statement.read > rowsMaxOf(exceptionOf(key)),
    );
    const lines = unexpected.map(
      ({ request, statement: { read: reads, returned, text } }) =>
        `${reads} rows read for ${returned}: ${request}\n${text.slice(0, 300)}`,
    );
    assert.equal(lines.join("\n"), "");
  });
}

test("every exception is still necessary", () => {
  const used = new Set(excesses.map(({ key }) => exceptionOf(key)));
  assert.deepEqual(
    Object.keys(exceptions).filter((key) => !used.has(key)),
    [],
  );
});

/** Returns how many rows a statement may read by the exception, or without one. */
function rowsMaxOf(exception: string | undefined): number {
  return exception === undefined ? 0 : exceptions[exception]!.rows_max;
}

/** Returns the exception for a list with filters: of the list, or with some of these filters. */
function exceptionOf(key: string): string | undefined {
  const [id, filters = ""] = key.split(" ") as [string, string?];
  const names = filters.split("+");
  return Object.keys(exceptions).find((each) => {
    const [of, some] = each.split(" ");
    return (
      of === id && (some === undefined || some.split("+").every((name) => names.includes(name)))
    );
  });
}

const get = (path: string) => watch(() => api.send("GET", path, { token: account.token }));

/** Reaches the rare rows. */
const pages_max = 100;

/** Reads up to `most` pages, until one after the first rows; returns how many rows they have. */
async function readPages(
  route: Route,
  given: Readonly<Record<string, unknown>>,
  most: number,
): Promise<number> {
  const path = routeRows.get(route.id)!.request(ids).path.split("?")[0]!;
  let found = 0;
  let cursor: string | null = "";
  for (let pages = 0, last = false; cursor !== null && pages < most && !last; pages++) {
    last = found > 0;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(given)) query.set(name, String(value));
    if (cursor !== "") query.set("cursor", cursor);
    const request = `${path}?${query.toString()}`;
    const { answer, statements } = await get(request);
    assert.equal(answer.status, 200, `${request}: ${answer.text}`);
    for (const statement of statements)
      if (statement.read > 20 * (statement.returned + page_rows))
        excesses.push({ key: `${route.id} ${Object.keys(given).join("+")}`, request, statement });
    found += answer.body.data.length;
    cursor = answer.body.next_cursor ?? answer.body.nextCursor ?? null;
  }
  return found;
}
