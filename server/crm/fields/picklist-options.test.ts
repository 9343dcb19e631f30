import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { assertGuarded, failingFields } from "../../../test/support/assert-guarded.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;
let base: string;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  base = `/api/v1/crm/workspaces/${account.workspace_id}`;
});
after(() => api.close());

const send = (method: string, path: string, json?: unknown, headers = {}) =>
  api.send(method, base + path, {
    token: account.token,
    headers,
    ...(json === undefined ? {} : { json }),
  });
const options = (picklist: string) => `/picklists/${picklist}/options`;
const add = (picklist: string, more: object = {}) =>
  send("POST", options(picklist), { label: unique("option"), ...more });
const patch = (picklist: string, id: number, json: unknown) =>
  send("PATCH", `${options(picklist)}/${id}`, json);
const remove = (picklist: string, id: number, headers = {}) =>
  send("DELETE", `${options(picklist)}/${id}`, undefined, headers);
const createLead = (more: object = {}) =>
  send("POST", "/leads/create", { phone: "9876543210", ...more });

type Option = { id: number; value: string; isDefault: boolean; archived?: boolean };
const list = async (picklist: string, query = ""): Promise<Option[]> =>
  (await send("GET", `/picklists${query}`)).body[picklist];
const defaultOf = async (picklist: string): Promise<Option> => {
  const found = (await list(picklist, "?includeArchived=true")).filter((o) => o.isDefault);
  assert.equal(found.length, 1, `one default ${picklist}`);
  return found[0]!;
};
const id_columns = { status: "statusId", source: "sourceId", priority: "priorityId" } as const;

test("picklists contain exactly the option's fields, and archived options on request", async () => {
  const { body: option } = await add("source", { label: "Old fair" });
  await patch("source", option.id, { archived: true });
  const { status, body } = await send("GET", "/picklists");
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ["status", "source", "priority"]);
  assert.deepEqual(body.status[0], {
    id: body.status[0].id,
    value: "new",
    label: "New",
    color: "#2563eb",
    isDefault: true,
    position: 0,
  });
  assert.ok(!body.source.some(({ id }: Option) => id === option.id));
  const shown = (await list("source", "?includeArchived=true")).find(({ id }) => id === option.id);
  assert.deepEqual(shown, { ...option, archived: true });
  const asked = await send("GET", "/picklists?includeArchived=perhaps");
  assert.deepEqual(failingFields(asked), ["includeArchived"]);
  assert.deepEqual(failingFields(await send("GET", "/picklists?archived=true")), ["archived"]);
});

test("a lead is created with the IDs that the lists of options and agents supply", async () => {
  await add("source");
  const { status, source, priority } = (await send("GET", "/picklists")).body;
  const agents = (await send("GET", "/agents")).body.data;
  const last = (listed: Option[]) => listed.at(-1)!;
  const { status: code, body } = await createLead({
    statusId: last(status).id,
    sourceId: last(source).id,
    priorityId: last(priority).id,
    assignedAgentId: last(agents).id,
  });
  assert.equal(code, 201);
  assert.deepEqual(
    [body.status.value, body.source.value, body.priority.value, body.assignedAgentId],
    [last(status).value, last(source).value, last(priority).value, last(agents).id],
  );
});

for (const picklist of ["status", "source", "priority"] as const) {
  test(`a new ${picklist} option can be given to the next lead, and shows in it`, async () => {
    const option = { label: "Très Chaud!", color: "#AbCdEf" };
    const added = await send("POST", options(picklist), option);
    assert.equal(added.status, 201);
    const { id, position } = added.body;
    const { archived, isDefault, ...rest } = added.body;
    assert.deepEqual([archived, isDefault], [false, false]);
    assert.deepEqual(rest, { id, value: "tres_chaud", ...option, position });
    const last = (await list(picklist)).at(-1)!;
    assert.equal(last.id, id, "without a position it comes last");
    const lead = await createLead({ [id_columns[picklist]]: id });
    assert.equal(lead.status, 201);
    assert.deepEqual(lead.body[picklist], { id, value: "tres_chaud", ...option });
  });

  test(`an option of another picklist is refused as a ${picklist}`, async () => {
    const other = picklist === "status" ? "priority" : "status";
    const { id } = await defaultOf(other);
    const field = id_columns[picklist];
    assert.deepEqual(failingFields(await createLead({ [field]: id })), [field]);
    assert.equal((await patch(picklist, id, { label: "x" })).status, 404);
    assert.equal((await remove(picklist, id)).status, 404);
  });
}

test("derives a unique value from the label, including labels in other scripts", async () => {
  const label = unique("Same label");
  const values = [];
  for (let i = 0; i < 3; i++) values.push((await add("source", { label })).body.value);
  assert.deepEqual(values, [values[0], `${values[0]}_2`, `${values[0]}_3`]);
  assert.equal((await add("source", { label: "नया" })).body.value, "source");
  assert.equal((await add("source", { label: "???" })).body.value, "source_2");
  const long = (await add("source", { label: "x".repeat(100) })).body.value;
  assert.match(long, /^x{1,63}$/);
  assert.equal((await add("source", { value: "my-value_1" })).body.value, "my-value_1");
  assert.deepEqual(failingFields(await add("source", { value: "my-value_1" })), ["value"]);
  assert.equal((await add("status", { value: "my-value_1" })).status, 201);
});

test("reports every invalid field of a new option at once", async () => {
  const create = { label: "a" };
  const cases: [string, unknown[]][] = [
    ["label", [null, "", " ", 5, "x".repeat(101)]],
    ["value", ["", "Big", "a b", "-a", "x".repeat(64), 5]],
    ["color", ["", "red", "#fff", "#12345g", "#1234567", "#123456\n", 5]],
    ["isDefault", ["true", 1]],
    ["position", [-1, 1.5, "1", 1_000_001]],
  ];
  for (const [field, values] of cases) {
    for (const value of values) {
      const answer = await send("POST", options("status"), { ...create, [field]: value });
      assert.deepEqual(failingFields(answer), [field], `${field}: ${JSON.stringify(value)}`);
    }
  }
  const all = { label: "", value: "A", color: "red", isDefault: 1, position: -1, colour: "red" };
  const failing = failingFields(await send("POST", options("status"), all));
  assert.deepEqual(failing.toSorted(), Object.keys(all).toSorted());
  assert.deepEqual(failingFields(await send("POST", options("status"), {})), ["label"]);
  const nulls = { label: "Nulls", value: null, color: null, isDefault: null, position: null };
  assert.equal((await send("POST", options("status"), nulls)).status, 201);
});

test("an option's patch is refused field by field and changes only what it names", async () => {
  const { body: option } = await add("status", { color: "#000000", position: 7 });
  const cases: [string, unknown[]][] = [
    ["label", [null, "", " ", 5]],
    ["color", ["", "red"]],
    ["isDefault", [null, "true"]],
    ["position", [null, -1]],
    ["archived", [null, "yes"]],
    ["value", ["new_value"]],
    ["id", [5]],
  ];
  for (const [field, values] of cases) {
    for (const value of values) {
      const answer = await patch("status", option.id, { [field]: value });
      assert.deepEqual(failingFields(answer), [field], `${field}: ${JSON.stringify(value)}`);
    }
  }
  assert.deepEqual(failingFields(await patch("status", option.id, {})), ["body"]);
  const steps = [{ label: "Renamed" }, { color: "#ffffff" }, { color: null }, { position: 3 }];
  const expected = { ...option };
  for (const step of [...steps, { archived: true }, { archived: false }, { isDefault: false }]) {
    const { status, body } = await patch("status", option.id, step);
    Object.assign(expected, step);
    assert.deepEqual([status, body], [200, expected]);
  }
});

test("a renamed option shows its new label in the next lead", async () => {
  const { body: option } = await add("status");
  await createLead({ statusId: option.id });
  await patch("status", option.id, { label: "Renamed", color: "#010203" });
  const { body } = await createLead({ statusId: option.id });
  assert.deepEqual([body.status.label, body.status.color], ["Renamed", "#010203"]);
});

test("an archived option is refused for new leads, kept by existing ones, and can be restored", async () => {
  const { body: option } = await add("status");
  const { body: lead } = await createLead({ statusId: option.id });
  assert.equal((await patch("status", option.id, { archived: true })).status, 200);
  assert.deepEqual(failingFields(await createLead({ statusId: option.id })), ["statusId"]);
  const kept = await api.app.db.query
    .selectFrom("leads")
    .select("status_id")
    .where("account_id", "=", account.account_id)
    .where("id", "=", lead.id)
    .executeTakeFirstOrThrow();
  assert.equal(kept.status_id, option.id);
  assert.equal((await patch("status", option.id, { archived: false })).status, 200);
  assert.equal((await createLead({ statusId: option.id })).status, 201);
});

test("an option in use can only be archived, an unused one can be deleted", async () => {
  for (const picklist of ["status", "source", "priority"] as const) {
    const { body: used } = await add(picklist);
    const { body: unused } = await add(picklist);
    await createLead({ [id_columns[picklist]]: used.id });
    const refused = await remove(picklist, used.id);
    assert.deepEqual([refused.status, refused.body.type], [409, "conflict"]);
    assert.match(refused.body.detail, /archive it with archived: true/);
    const deleted = await remove(picklist, unused.id);
    assert.deepEqual([deleted.status, deleted.text], [204, ""]);
    const ids = new Set((await list(picklist, "?includeArchived=true")).map(({ id }) => id));
    assert.ok(ids.has(used.id) && !ids.has(unused.id));
    assert.equal((await remove(picklist, unused.id)).status, 404);
    const field = id_columns[picklist];
    assert.deepEqual(failingFields(await createLead({ [field]: unused.id })), [field]);
  }
});

test("making another option the default applies to the next lead", async () => {
  for (const picklist of ["status", "priority"] as const) {
    const old = await defaultOf(picklist);
    const { body: patched } = await add(picklist);
    const answer = await patch(picklist, patched.id, { isDefault: true });
    assert.deepEqual([answer.status, answer.body.isDefault], [200, true]);
    assert.equal((await defaultOf(picklist)).id, patched.id);
    assert.equal((await createLead()).body[id_columns[picklist]], patched.id);
    const created = await add(picklist, { isDefault: true });
    assert.deepEqual([created.status, created.body.isDefault], [201, true]);
    assert.equal((await createLead()).body[id_columns[picklist]], created.body.id);
    assert.equal((await patch(picklist, old.id, { isDefault: true })).status, 200);
    assert.equal((await patch(picklist, old.id, { isDefault: true })).status, 200);
    assert.equal((await defaultOf(picklist)).id, old.id);
  }
});

test("the default cannot be unset, archived or deleted, and an archived option cannot be the default", async () => {
  for (const picklist of ["status", "priority"] as const) {
    const standing = await defaultOf(picklist);
    const { body: spare } = await add(picklist);
    const conflicts = [
      await patch(picklist, standing.id, { isDefault: false }),
      await patch(picklist, standing.id, { archived: true }),
      await patch(picklist, standing.id, { archived: true, isDefault: false }),
      await remove(picklist, standing.id),
      await patch(picklist, spare.id, { archived: true, isDefault: true }),
    ];
    await patch(picklist, spare.id, { archived: true });
    conflicts.push(await patch(picklist, spare.id, { isDefault: true }));
    for (const { status, body } of conflicts) {
      assert.deepEqual([status, body.type], [409, "conflict"]);
    }
    assert.equal((await defaultOf(picklist)).id, standing.id);
    const both = await patch(picklist, spare.id, { archived: false, isDefault: true });
    assert.equal(both.status, 200);
    assert.equal((await patch(picklist, standing.id, { isDefault: true })).status, 200);
  }
});

test("the source picklist has no default", async () => {
  assert.deepEqual(failingFields(await add("source", { isDefault: true })), ["isDefault"]);
  assert.deepEqual(failingFields(await add("source", { isDefault: true, label: "" })), [
    "label",
    "isDefault",
  ]);
  const { body: option } = await add("source", { isDefault: false });
  assert.deepEqual(failingFields(await patch("source", option.id, { isDefault: true })), [
    "isDefault",
  ]);
  assert.equal((await createLead()).body.sourceId, null);
});

test("a picklist holds at most 500 options", async () => {
  const { account_id, workspace_id } = account;
  const stamps = { created_at: new Date(), updated_at: new Date() };
  const held = (await list("source", "?includeArchived=true")).length;
  const rows = Array.from({ length: 500 - held }, (_, i) => ({
    account_id,
    workspace_id,
    picklist: "source",
    value: `filler_${i}`,
    label: "filler",
    position: i,
    ...stamps,
  }));
  await api.app.db.query.insertInto("picklist_options").values(rows).execute();
  const answer = await add("source");
  assert.deepEqual([answer.status, answer.body.type], [409, "conflict"]);
  await api.app.db.query
    .deleteFrom("picklist_options")
    .where("account_id", "=", account_id)
    .where("label", "=", "filler")
    .execute();
});

test("a repeated Idempotency-Key adds one option, and deletes once", async () => {
  const headers = { "idempotency-key": unique("key") };
  const json = { label: unique("option") };
  const first = await send("POST", options("status"), json, headers);
  const second = await send("POST", options("status"), json, headers);
  assert.deepEqual([first.status, second.text], [201, first.text]);
  const again = { "idempotency-key": unique("key") };
  for (const replayed of [null, "true"]) {
    const deleted = await remove("status", first.body.id, again);
    assert.deepEqual([deleted.status, deleted.text], [204, ""]);
    assert.equal(deleted.headers.get("idempotency-replayed"), replayed);
  }
});

test("audits every change of a picklist and increments the schema version", async () => {
  const version = async () => {
    const { schema_version } = await api.app.db.query
      .selectFrom("workspaces")
      .select("schema_version")
      .where("account_id", "=", account.account_id)
      .where("id", "=", account.workspace_id)
      .executeTakeFirstOrThrow();
    return schema_version;
  };
  const started_at = await version();
  const { body: option } = await add("status");
  await patch("status", option.id, { label: "Other" });
  await patch("status", (await defaultOf("status")).id, { archived: true });
  await remove("status", option.id);
  assert.equal(await version(), started_at + 3);
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "user_id"])
    .where("account_id", "=", account.account_id)
    .where("subject_id", "=", String(option.id))
    .where("action", "like", "picklist_option.%")
    .orderBy("id")
    .execute();
  assert.deepEqual(
    entries,
    ["created", "updated", "deleted"].map((done) => ({
      action: `picklist_option.${done}`,
      user_id: account.owner_id,
    })),
  );
});

test("picklists are read with permissions for leads and changed with crm.manage", async () => {
  const { body: option } = await add("status");
  const path = base + options("status");
  const look = ["crm.read", "crm.leads.create", "crm.manage"] as const;
  await assertGuarded(api, account, { method: "GET", path: `${base}/picklists` }, look);
  const json = { label: "x" };
  await assertGuarded(api, account, { method: "POST", path, json }, ["crm.manage"]);
  const one = `${path}/${option.id}`;
  await assertGuarded(api, account, { method: "PATCH", path: one, json }, ["crm.manage"]);
  await assertGuarded(api, account, { method: "DELETE", path: one }, ["crm.manage"]);
});

test("what does not exist is not found: workspace, picklist, option", async () => {
  const { id } = await defaultOf("status");
  const other = await makeAccount(api.app);
  const paths = [
    `/../${other.workspace_id}${options("status")}`,
    `/../999999999${options("status")}`,
    options("colour"),
    options("__proto__"),
  ];
  for (const path of paths) {
    assert.equal((await send("POST", path, { label: "x" })).status, 404, path);
    assert.equal((await send("PATCH", `${path}/${id}`, { label: "x" })).status, 404, path);
    assert.equal((await send("DELETE", `${path}/${id}`)).status, 404, path);
  }
  assert.equal((await patch("status", 999_999_999, { label: "x" })).status, 404);
  assert.equal((await send("GET", "/../999999999/picklists")).status, 404);
});
