import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { assertGuarded, failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAccount,
  makeUser,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

const base = "/api/v1/crm/workspaces";
let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const as =
  (token: string) =>
  (method: string, path: string, json?: unknown, headers = {}) =>
    api.send(method, base + path, { token, headers, ...(json === undefined ? {} : { json }) });
const send = (...request: Parameters<ReturnType<typeof as>>) => as(account.token)(...request);
const createLead = (workspaceId: number, lead: object = { phone: "9876543210" }) =>
  send("POST", `/${workspaceId}/leads/create`, lead);
const audit = () =>
  api.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "subject_id", "user_id", "detail"])
    .where("account_id", "=", account.account_id)
    .orderBy("id", "desc")
    .executeTakeFirstOrThrow();

test("a new workspace answers with its five fields and takes leads at once with seeded defaults", async () => {
  api.clock.set("2026-03-01T10:00:00Z");
  const created = await send("POST", "", { name: "Support" });
  api.clock.set(new Date());
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, {
    id: created.body.id,
    name: "Support",
    active: true,
    createdAt: "2026-03-01T10:00:00.000Z",
    updatedAt: "2026-03-01T10:00:00.000Z",
  });
  const lead = await createLead(created.body.id);
  assert.equal(lead.status, 201);
  assert.deepEqual([lead.body.status.value, lead.body.priority.value], ["new", "medium"]);
  const { body: picklists } = await send("GET", `/${created.body.id}/picklists`);
  for (const picklist of ["status", "priority"]) {
    const defaults = picklists[picklist].filter((o: { isDefault: boolean }) => o.isDefault);
    assert.equal(defaults.length, 1);
  }
  assert.ok(picklists.source.length > 0);
});

test("a workspace's creation and change stand on the audit trail with who did them", async () => {
  const { body } = await send("POST", "", { name: unique("workspace") });
  assert.deepEqual(await audit(), {
    action: "workspace.created",
    subject_id: String(body.id),
    user_id: account.owner_id,
    detail: {},
  });
  await send("PATCH", `/${body.id}`, { active: false });
  assert.deepEqual(await audit(), {
    action: "workspace.updated",
    subject_id: String(body.id),
    user_id: account.owner_id,
    detail: { workspace_id: body.id, changed: ["active"] },
  });
});

test("reports every invalid field of a workspace at once", async () => {
  const long = "x".repeat(256);
  for (const name of [undefined, null, "", "  ", 7, long]) {
    assert.deepEqual(failingFields(await send("POST", "", { name })), ["name"]);
  }
  assert.deepEqual(failingFields(await send("POST", "", { name: "a", active: "yes" })), ["active"]);
  assert.deepEqual(failingFields(await send("POST", "", { name: "", active: 1, nmae: "b" })), [
    "nmae",
    "name",
    "active",
  ]);
  const one = `/${account.workspace_id}`;
  for (const name of [null, "", "\t", long]) {
    assert.deepEqual(failingFields(await send("PATCH", one, { name })), ["name"]);
  }
  assert.deepEqual(failingFields(await send("PATCH", one, { active: null })), ["active"]);
  assert.deepEqual(failingFields(await send("PATCH", one, {})), ["body"]);
  assert.deepEqual(failingFields(await send("PATCH", one, { id: 5 })), ["id"]);
});

test("a name is unique in an account and free in another", async () => {
  const name = unique("workspace");
  const { body: first } = await send("POST", "", { name });
  const { body: second } = await send("POST", "", { name: unique("workspace") });
  assert.deepEqual(failingFields(await send("POST", "", { name })), ["name"]);
  assert.deepEqual(failingFields(await send("PATCH", `/${second.id}`, { name })), ["name"]);
  assert.equal((await send("PATCH", `/${first.id}`, { name })).status, 200);
  const other = await makeAccount(api.app);
  assert.equal((await as(other.token)("POST", "", { name })).status, 201);
});

test("an inactive workspace takes no leads but can be read, configured and reactivated", async () => {
  const { body: workspace } = await send("POST", "", { name: unique("workspace"), active: false });
  const path = `/${workspace.id}`;
  assert.equal((await createLead(workspace.id)).status, 404);
  for (const look of ["", "/picklists", "/custom-fields", "/agents"]) {
    assert.equal((await send("GET", path + look)).status, 200, look);
  }
  const option = { label: "Called back" };
  assert.equal((await send("POST", `${path}/picklists/status/options`, option)).status, 201);
  const field = { key: "budget", label: "Budget", type: "number" };
  assert.equal((await send("POST", `${path}/custom-fields`, field)).status, 201);
  const patched = await send("PATCH", path, { active: true });
  assert.deepEqual([patched.status, patched.body.active], [200, true]);
  assert.equal((await createLead(workspace.id)).status, 201);
  assert.equal((await send("PATCH", path, { active: false })).status, 200);
  assert.equal((await createLead(workspace.id)).status, 404);
});

test("the list walks every workspace of the account once, in pages", async () => {
  const { token, workspace_id } = await makeAccount(api.app);
  const request = as(token);
  const ids = [workspace_id];
  for (let i = 0; i < 4; i++) {
    ids.push((await request("POST", "", { name: unique("workspace") })).body.id);
  }
  const seen: number[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page = await request("GET", `?limit=2${cursor && `&cursor=${cursor}`}`);
    assert.equal(page.status, 200);
    assert.ok(page.body.data.length <= 2);
    seen.push(...page.body.data.map(({ id }: { id: number }) => id));
    cursor = page.body.nextCursor as string | null;
  }
  assert.deepEqual(seen, ids);
  for (const limit of ["0", "201", "x"]) {
    assert.deepEqual(failingFields(await request("GET", `?limit=${limit}`)), ["limit"]);
  }
  assert.deepEqual(failingFields(await request("GET", "?cursor=nonsense")), ["cursor"]);
});

test("a repeated Idempotency-Key creates one workspace", async () => {
  const headers = { "idempotency-key": unique("key") };
  const json = { name: unique("workspace") };
  const first = await send("POST", "", json, headers);
  const second = await send("POST", "", json, headers);
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("idempotency-replayed"), "true");
});

test("workspaces that do not exist, or by no number, are not found", async () => {
  for (const id of ["0", "-1", "999999999", "abc", "1.5", "9223372036854775807"]) {
    assert.equal((await send("GET", `/${id}`)).status, 404, id);
    assert.equal((await send("PATCH", `/${id}`, { name: "x" })).status, 404, id);
    assert.equal((await send("GET", `/${id}/agents`)).status, 404, id);
  }
});

test("workspaces are read with permissions for leads and changed with crm.manage", async () => {
  const look = ["crm.read", "crm.leads.create", "crm.manage"] as const;
  const one = `${base}/${account.workspace_id}`;
  await assertGuarded(api, account, { method: "GET", path: base }, look);
  await assertGuarded(api, account, { method: "GET", path: one }, look);
  await assertGuarded(api, account, { method: "GET", path: `${one}/agents` }, look);
  const json = { name: unique("workspace") };
  await assertGuarded(api, account, { method: "POST", path: base, json }, ["crm.manage"]);
  await assertGuarded(api, account, { method: "PATCH", path: one, json: { active: true } }, [
    "crm.manage",
  ]);
});

test("agents are the account's users, in pages, and can be narrowed to the active ones", async () => {
  const mine = await makeAccount(api.app);
  const request = as(mine.token);
  const agents = [mine.owner_id, await makeUser(api.app, mine), await makeUser(api.app, mine)];
  await api.app.db.query
    .updateTable("users")
    .set({ active: false, phone: "9876543210", extension: "12" })
    .where("account_id", "=", mine.account_id)
    .where("id", "=", agents[1]!)
    .execute();
  const path = `/${mine.workspace_id}/agents`;
  const all = await request("GET", path);
  assert.equal(all.status, 200);
  assert.deepEqual(
    all.body.data.map(({ id }: { id: number }) => id),
    agents,
  );
  const { name, email } = all.body.data[1];
  assert.deepEqual(all.body.data[1], {
    id: agents[1],
    name,
    email,
    phone: "9876543210",
    extension: "12",
    active: false,
  });
  assert.equal(all.body.nextCursor, null);
  const active = await request("GET", `${path}?active=true&limit=1`);
  assert.deepEqual([active.body.data.length, active.body.data[0].id], [1, agents[0]]);
  const rest = await request("GET", `${path}?active=true&cursor=${active.body.nextCursor}`);
  assert.deepEqual(
    rest.body.data.map(({ id }: { id: number }) => id),
    [agents[2]],
  );
  assert.deepEqual(failingFields(await request("GET", `${path}?active=maybe`)), ["active"]);
});
