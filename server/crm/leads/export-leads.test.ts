import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parse } from "csv-parse/sync";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeCustomField } from "../../../test/support/crm-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, makeAgentToken, makeUser } from "../../../test/support/account-factory.ts";
import type { TestAccount } from "../../../test/support/account-factory.ts";
import { searched_rows_max } from "../../lib/database/cursor.ts";
import { startWorker } from "../../worker.ts";

let api: TestApi;

before(async () => {
  api = await startApi();
});
after(() => api.close());

const base = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}/leads`;
const create = async (of: TestAccount, json: object) =>
  (await api.send("POST", `${base(of)}/create`, { token: of.token, json })).body;

async function exported(of: TestAccount, query = ""): Promise<Record<string, string>[]> {
  const answer = await api.send("GET", `${base(of)}/export${query}`, of);
  assert.equal(answer.status, 200, answer.text);
  return parse(answer.text, { columns: true });
}

/** Inserts leads in bulk by SQL; only their number is important. */
async function fill(of: TestAccount, leads: number): Promise<void> {
  const { id: contact_id } = await api.app.db.query
    .selectFrom("contacts")
    .select("id")
    .where("account_id", "=", of.account_id)
    .executeTakeFirstOrThrow();
  await api.app.db.pool.query(
    `insert into leads (account_id, workspace_id, contact_id, name, phone, phone_e164, status_id,
       priority_id, custom_fields, created_by, created_at, updated_at)
     select account_id, workspace_id, contact_id, 'Lead ' || n, phone, phone_e164, status_id,
       priority_id, custom_fields, created_by, created_at, updated_at
     from leads, generate_series(1, $2) n
     where account_id = $1 and contact_id = $3`,
    [of.account_id, leads, contact_id],
  );
}

test("an export has every lead once, newest first, with all fields and custom fields as columns", async () => {
  const of = await makeAccount(api.app);
  await makeCustomField(api.app, of, { key: "tags", type: "multiselect", options: ["a", "b"] });
  await makeCustomField(api.app, of, { key: "vip", type: "boolean" });
  await makeCustomField(api.app, of, { key: "budget", type: "number" });
  const agent = await makeUser(api.app, of);
  const first = await create(of, {
    phone: "9000000001",
    name: 'Zoë "Z", Ltd\nsecond line',
    email: "zoe@example.com",
    assignedAgentId: agent,
    customFields: { tags: ["a", "b"], vip: false, budget: -1.5 },
  });
  const second = await create(of, { phone: "9000000002" });
  const answer = await api.send("GET", `${base(of)}/export`, of);
  assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
  assert.equal(
    answer.headers.get("content-disposition"),
    `attachment; filename="leads-${of.workspace_id}.csv"`,
  );
  const rows: Record<string, string>[] = parse(answer.text, { columns: true });
  assert.deepEqual(
    rows.map((row) => row["id"]),
    [String(second.id), String(first.id)],
  );
  const { assignedAgentEmail, ...row } = rows[1]!;
  assert.match(assignedAgentEmail!, /@test\.example$/);
  assert.deepEqual(row, {
    id: String(first.id),
    name: 'Zoë "Z", Ltd\nsecond line',
    phone: "9000000001",
    email: "zoe@example.com",
    status: "New",
    source: "",
    priority: "Medium",
    contactId: String(first.contactId),
    contactName: 'Zoë "Z", Ltd\nsecond line',
    createdAt: first.createdAt,
    updatedAt: first.updatedAt,
    "customFields.tags": "a;b",
    "customFields.vip": "false",
    "customFields.budget": "-1.5",
  });
});

test("free text that a spreadsheet would execute is inert in an export; phones, numbers and times are unchanged", async () => {
  const of = await makeAccount(api.app);
  await makeCustomField(api.app, of, { key: "note", type: "text" });
  const inert: Record<string, string> = { "\t=": "'\t'=", "\r=": "'\r'=", "a;=": "a;'=" };
  const signs = ["=", "+", "-", "@", "＝", "＋", "－", "＠", ...Object.keys(inert)];
  for (const sign of signs) {
    await create(of, {
      phone: "9000000001",
      name: `${sign}1+1`,
      customFields: { note: `${sign}x` },
    });
  }
  const rows = await exported(of);
  assert.equal(rows.length, signs.length);
  for (const [i, sign] of signs.toReversed().entries()) {
    const begin = inert[sign] ?? `'${sign}`;
    assert.equal(rows[i]!["name"], `${begin}1+1`);
    assert.equal(rows[i]!["customFields.note"], `${begin}x`);
    assert.equal(rows[i]!["phone"], "9000000001");
  }
});

test("an export accepts the list's filters", async () => {
  const of = await makeAccount(api.app);
  await create(of, { phone: "9000000001", name: "Ada" });
  await create(of, { phone: "9000000002", name: "Grace" });
  assert.deepEqual(
    (await exported(of, "?q=ada")).map((row) => row["name"]),
    ["Ada"],
  );
  assert.deepEqual(
    (await exported(of, "?phone=9000000002")).map((row) => row["name"]),
    ["Grace"],
  );
  assert.deepEqual(await exported(of, "?createdTo=2020-01-01T00:00"), []);
  assert.equal((await api.send("GET", `${base(of)}/export?createdTo=x`, of)).status, 422);
});

test("an export by a filter without an index has the oldest lead, and searches a part of the leads in each statement", async () => {
  const of = await makeAccount(api.app);
  await create(of, { phone: "9000000001", name: "Rare" });
  await fill(of, 2_000);
  let statements = 0;
  const count = () => statements++;
  api.app.db.pool.on("acquire", count);
  const rows = await exported(of, "?q=rare");
  api.app.db.pool.off("acquire", count);
  assert.deepEqual(
    rows.map((row) => row["name"]),
    ["Rare"],
  );
  assert.ok(statements > 2_000 / searched_rows_max, `${statements} statements`);
});

test("an export needs crm.export, stays within the account, and is written into the audit trail", async () => {
  const of = await makeAccount(api.app);
  const stranger = await makeAccount(api.app);
  const reader = await makeAgentToken(api.app, of, ["crm.read", "crm.write", "crm.import"]);
  assert.equal((await api.send("GET", `${base(of)}/export`, { token: reader })).status, 403);
  assert.equal((await api.send("GET", `${base(of)}/export`, stranger)).status, 404);
  await exported(of, "?q=ada");
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "user_id", "detail"])
    .where("account_id", "=", of.account_id)
    .execute();
  assert.deepEqual(entries, [
    { action: "leads.exported", user_id: of.owner_id, detail: { filters: ["q"] } },
  ]);
});

/** An account with 50,000 leads, some 20 MB of CSV: far more than sockets hold. */
async function makeManyLeads(): Promise<TestAccount> {
  const of = await makeAccount(api.app);
  await create(of, { phone: "9000000001", name: "x".repeat(255) });
  await fill(of, 49_999);
  return of;
}

const open = (of: TestAccount, signal: AbortSignal | null = null) =>
  fetch(`${api.url}${base(of)}/export`, {
    headers: { authorization: `Bearer ${of.token}` },
    signal,
  });

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("an export of 50,000 leads is complete and uses bounded memory", async () => {
  const of = await makeManyLeads();
  const held: number[] = [];
  let lines = 0;
  for await (const chunk of (await open(of)).body!) {
    for (const byte of chunk as Uint8Array) if (byte === 10) lines++;
    if (lines / 5_000 < held.length) continue;
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    held.push((heapUsed + external) / 1_048_576);
  }
  assert.equal(lines, 50_001);
  const growth_mb = Math.max(...held) - held[0]!;
  assert.ok(held.length > 8 && growth_mb < 16, `memory held, in MB: ${held.join(", ")}`);
});

test("an export stops querying the database when its reader disconnects", async () => {
  const of = await makeManyLeads();
  const disconnect = new AbortController();
  const reader = (await open(of, disconnect.signal)).body!.getReader();
  await reader.read();
  let queries = 0;
  api.app.db.pool.on("acquire", () => queries++);
  disconnect.abort();
  await reader.read().catch(() => {});
  // The export runs through a hundred pages; the one that is being read may still end.
  await eventually(() => api.app.db.pool.idleCount === api.app.db.pool.totalCount);
  const late = queries;
  assert.ok(late < 20, `${late} queries were made after the client had gone`);
  assert.equal((await api.send("GET", `${base(of)}?limit=1`, of)).status, 200);
  assert.ok(queries - late < 10, "the export went on");
});

test("an export can be imported unchanged, with the columns that a preview guesses", async () => {
  const of = await makeAccount(api.app);
  const { token } = of;
  const tags = ["a", "b", "a;b", "=c; d", " e ", "[a]", '["b"]', '";=f'];
  await makeCustomField(api.app, of, { key: "tags", type: "multiselect", options: tags });
  await makeCustomField(api.app, of, { key: "size", type: "select", options: [" L; XL ", "S"] });
  const sources = `/api/v1/crm/workspaces/${of.workspace_id}/picklists/source/options`;
  const source = await api.send("POST", sources, { token, json: { label: " Fair " } });
  const assignedAgentId = await makeUser(api.app, of);
  const lists = [["b", "a"], ["a;b"], [" e ", "a"], ["a", "=c; d"], ["[a]"], ['["b"]'], tags];
  const leads = [];
  for (const [i, list] of lists.entries())
    leads.push(
      await create(of, {
        phone: `900000000${i}`,
        name: "=Ada",
        email: "ada@example.com",
        assignedAgentId,
        sourceId: source.body.id,
        customFields: { tags: list, size: " L; XL " },
      }),
    );
  const csv = (await api.send("GET", `${base(of)}/export`, of)).text;
  const form = () => {
    const raw = new FormData();
    raw.append("file", new Blob([csv]), "leads.csv");
    return raw;
  };
  const preview = await api.send("POST", `${base(of)}/import/preview`, { token, raw: form() });
  const { columnMap } = preview.body;
  assert.deepEqual(columnMap, {
    phone: "phone",
    name: "name",
    email: "email",
    assignedAgentId: "assignedAgentEmail",
    statusId: "status",
    sourceId: "source",
    priorityId: "priority",
    "customFields.tags": "customFields.tags",
    "customFields.size": "customFields.size",
  });
  const raw = form();
  raw.append("columnMap", JSON.stringify(columnMap));
  const worker = startWorker(api.app);
  const { body: started } = await api.send("POST", `${base(of)}/import`, { token, raw });
  const readImport = () => api.send("GET", `${base(of)}/imports/${started.id}`, of);
  await eventually(async () => (await readImport()).body.state === "completed");
  await worker.stop();
  const rejects = await api.send("GET", `${base(of)}/imports/${started.id}/rejects`, of);
  assert.deepEqual(rejects.body.data, []);
  const all: Record<string, unknown>[] = (await api.send("GET", base(of), of)).body.data;
  const same = ({ id: _i, createdAt: _c, updatedAt: _u, ...rest }: Record<string, unknown>) => rest;
  const copies = all.slice(0, lists.length);
  const byPhone = (lead: Record<string, unknown>) => String(lead["phone"]);
  assert.deepEqual(
    copies.toSorted((a, b) => byPhone(a).localeCompare(byPhone(b))).map(same),
    leads.map(same),
  );
});
