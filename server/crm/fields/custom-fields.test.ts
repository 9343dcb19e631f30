import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { assertGuarded, failingFields } from "../../../test/support/assert-guarded.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import type { CustomFieldType } from "../workspaces/workspace-schema.ts";

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
const newKey = () => unique("field").replace("-", "_");
const add = (field: object) =>
  send("POST", "/custom-fields", { key: newKey(), label: "A field", type: "text", ...field });
const patch = (id: number, json: unknown) => send("PATCH", `/custom-fields/${id}`, json);
const remove = (id: number) => send("DELETE", `/custom-fields/${id}`);
const createLead = (customFields?: unknown) =>
  send("POST", "/leads/create", { phone: "9876543210", customFields });
const list = async (query = "") => (await send("GET", `/custom-fields${query}`)).body.data;

test("a new custom field is listed with its eight fields and accepted by the next lead", async () => {
  const field = { key: newKey(), label: "Plan", type: "select", options: ["Gold", "Silver"] };
  const { status, body } = await send("POST", "/custom-fields", field);
  assert.equal(status, 201);
  const { id, position } = body;
  assert.deepEqual(body, { id, ...field, required: false, position, archived: false });
  assert.deepEqual((await list()).at(-1), body, "without a position it comes last");
  const lead = await createLead({ [field.key]: "Gold" });
  assert.deepEqual([lead.status, lead.body.customFields], [201, { [field.key]: "Gold" }]);
  const nulls = { required: null, options: null, position: null };
  assert.equal((await add({ ...nulls, type: "date" })).status, 201);
});

const values: Record<CustomFieldType, { options?: string[]; good: unknown[]; bad: unknown[] }> = {
  text: {
    good: ["a", "", " ", "नमस्ते 🙂", "x".repeat(5_000), "🙂".repeat(5_000)],
    bad: [1, true, [], {}, ["a"], "x".repeat(5_001), "🙂".repeat(5_001)],
  },
  number: {
    good: [0, -1, 1.5, 1e-7, 2 ** 53 - 1, -(2 ** 53 - 1)],
    bad: ["1", true, [1], {}, 2 ** 53, -(2 ** 53), 1e300],
  },
  boolean: { good: [true, false], bad: ["true", 0, 1, [], {}] },
  date: {
    good: ["2026-02-28", "2024-02-29", "1900-01-01", "9999-12-31"],
    bad: ["2026-02-29", "2026-2-3", "28-02-2026", "2026-02-28T00:00:00Z", "", " 2026-02-28", 1, []],
  },
  select: {
    options: ["red", "green", "constructor"],
    good: ["red", "constructor"],
    bad: ["blue", "Red", "", ["red"], 1, true, "toString"],
  },
  multiselect: {
    options: ["red", "green"],
    good: [[], ["red"], ["green", "red"]],
    bad: ["red", ["blue"], ["red", "red"], [["red"]], [1], [null], { 0: "red" }],
  },
};

for (const [type, { options, good, bad }] of Object.entries(values)) {
  test(`a lead stores valid values of a ${type} field unchanged, and refuses others on that field`, async () => {
    const { body: field } = await add({ type, ...(options ? { options } : {}) });
    for (const value of good) {
      const { status, body } = await createLead({ [field.key]: value });
      assert.equal(status, 201, JSON.stringify(value));
      assert.deepEqual(body.customFields, { [field.key]: value });
    }
    for (const value of bad) {
      const answer = await createLead({ [field.key]: value });
      const shown = JSON.stringify(value).slice(0, 50);
      assert.deepEqual(failingFields(answer), [`customFields.${field.key}`], shown);
    }
    const empty = await createLead({ [field.key]: null });
    assert.deepEqual([empty.status, empty.body.customFields], [201, {}]);
  });
}

test("numbers beyond JSON's, NUL and half surrogates in custom values are a 422", async () => {
  const { body: number } = await add({ type: "number" });
  const { body: text } = await add({ type: "text" });
  const raw = (customFields: string) =>
    api.send("POST", `${base}/leads/create`, {
      token: account.token,
      headers: { "content-type": "application/json" },
      raw: `{"phone":"9876543210","customFields":${customFields}}`,
    });
  assert.equal((await raw(`{"${number.key}":1e999}`)).status, 422);
  assert.equal((await raw(`{"${number.key}":9007199254740993}`)).status, 422);
  assert.equal((await raw(`{"${number.key}":99999999999999999999}`)).status, 422);
  assert.equal((await raw(`{"${text.key}":"a\\u0000b"}`)).status, 422);
  assert.equal((await raw(`{"${text.key}":"\\ud800"}`)).status, 422);
});

test("reports every unknown custom field by name", async () => {
  const raw =
    '{"phone":"9876543210","customFields":{"nope":1,"__proto__":{"a":1},"constructor":2}}';
  const headers = { "content-type": "application/json" };
  const { token } = account;
  const answer = await api.send("POST", `${base}/leads/create`, { token, raw, headers });
  assert.deepEqual(failingFields(answer), [
    "customFields.nope",
    "customFields.__proto__",
    "customFields.constructor",
  ]);
  for (const customFields of ["x", 5, ["a"], true]) {
    assert.deepEqual(failingFields(await createLead(customFields)), ["customFields"]);
  }
});

test("making a field required or optional applies to the next lead", async () => {
  for (const type of ["text", "multiselect"] as const) {
    const { options } = values[type];
    const created = await add({ type, required: true, ...(options ? { options } : {}) });
    assert.deepEqual([created.status, created.body.required], [201, true]);
    const { id, key } = created.body;
    const empty = type === "text" ? "" : [];
    for (const without of [undefined, null, {}, { [key]: null }, { [key]: empty }]) {
      assert.deepEqual(failingFields(await createLead(without)), [`customFields.${key}`]);
    }
    const value = type === "text" ? "x" : ["red"];
    assert.equal((await createLead({ [key]: value })).status, 201);
    assert.equal((await patch(id, { required: false })).status, 200);
    assert.equal((await createLead()).status, 201);
    await patch(id, { required: true });
    await patch(id, { archived: true });
    assert.equal((await createLead()).status, 201);
  }
});

test("reports every invalid field of a new custom field at once", async () => {
  const create = { key: "fine", label: "a", type: "select", options: ["a"] };
  const reserved = ["__proto__", "constructor", "prototype", "toString", "_a", "1a", "A", "a-b"];
  const cases: [string, unknown[]][] = [
    ["key", [null, "", 5, "a b", "a\n", "x".repeat(64), ...reserved]],
    ["label", [null, "", " ", 5, "x".repeat(101)]],
    ["type", [null, "", "Text", "json", 5]],
    ["required", ["true", 1]],
    ["options", [null, "a", {}, [], ["a", "a"], Array.from({ length: 201 }, (_, i) => `${i}`)]],
    ["options.0", [[""], [" "], [5], [null], ["x".repeat(201)]]],
    ["position", [-1, 1.5, "1", 1_000_001]],
  ];
  for (const [field, wrong] of cases) {
    for (const value of wrong) {
      const [name] = field.split(".");
      const answer = await send("POST", "/custom-fields", { ...create, [name!]: value });
      assert.deepEqual(failingFields(answer), [field], `${field}: ${JSON.stringify(value)}`);
    }
  }
  const { options: _, ...without } = create;
  assert.deepEqual(failingFields(await send("POST", "/custom-fields", without)), ["options"]);
  for (const type of ["text", "number", "boolean", "date"]) {
    const answer = await send("POST", "/custom-fields", { ...create, type });
    assert.deepEqual(failingFields(answer), ["options"]);
  }
  const all = { key: "A", label: "", type: "text", options: ["a"], required: 1, typ: 1 };
  const failing = failingFields(await send("POST", "/custom-fields", all));
  assert.deepEqual(failing.toSorted(), ["key", "label", "options", "required", "typ"]);
  const nothing = failingFields(await send("POST", "/custom-fields", {}));
  assert.deepEqual(nothing, ["key", "label", "type"]);
});

test("a custom field's patch is refused field by field; its key and type never change", async () => {
  const { body: field } = await add({ type: "select", options: ["a", "b"] });
  const cases: [string, unknown[]][] = [
    ["key", ["other"]],
    ["type", ["text", "select"]],
    ["label", [null, "", 5]],
    ["required", [null, 1]],
    ["options", [null, [], ["a", "a"]]],
    ["position", [null, -1]],
    ["archived", [null, "no"]],
  ];
  for (const [name, wrong] of cases) {
    for (const value of wrong) {
      assert.deepEqual(failingFields(await patch(field.id, { [name]: value })), [name]);
    }
  }
  assert.deepEqual(failingFields(await patch(field.id, {})), ["body"]);
  const expected = { ...field };
  const steps = [{ label: "B" }, { required: true }, { options: ["b", "c"] }, { position: 2 }];
  for (const step of [...steps, { archived: true }, { archived: false, required: false }]) {
    const { status, body } = await patch(field.id, step);
    Object.assign(expected, step);
    assert.deepEqual([status, body], [200, expected]);
  }
  const { body: text } = await add({ type: "text" });
  assert.deepEqual(failingFields(await patch(text.id, { options: ["a"] })), ["options"]);
});

test("a removed choice is refused for new leads and kept by existing ones", async () => {
  const { body: field } = await add({ type: "select", options: ["old", "new"] });
  const { body: lead } = await createLead({ [field.key]: "old" });
  assert.equal((await patch(field.id, { options: ["new"] })).status, 200);
  const refused = await createLead({ [field.key]: "old" });
  assert.deepEqual(failingFields(refused), [`customFields.${field.key}`]);
  const { custom_fields } = await api.app.db.query
    .selectFrom("leads")
    .select("custom_fields")
    .where("account_id", "=", account.account_id)
    .where("id", "=", lead.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(custom_fields, { [field.key]: "old" });
});

test("a change of a lead can repeat the removed choices that it has, and no others", async () => {
  const options = ["old", "older", "new", "newer"];
  const { body: one } = await add({ type: "select", options });
  const { body: many } = await add({ type: "multiselect", options });
  const { body: lead } = await createLead({ [one.key]: "old", [many.key]: ["old", "new"] });
  for (const { id } of [one, many]) await patch(id, { options: ["new", "newer"] });
  const change = (customFields: object) =>
    send("PATCH", `/leads/${lead.id}`, { name: "Ada", customFields });
  for (const customFields of [
    { [one.key]: "old", [many.key]: ["old", "new", "newer"] },
    { [one.key]: "old", [many.key]: ["newer", "old"] },
    { [one.key]: "new", [many.key]: ["new"] },
  ]) {
    const { status, body } = await change(customFields);
    assert.deepEqual([status, body.customFields], [200, customFields]);
  }
  const refused = await change({ [one.key]: "old", [many.key]: ["old", "new"] });
  assert.deepEqual(
    failingFields(refused),
    [one, many].map(({ key }) => `customFields.${key}`),
  );
  assert.deepEqual(failingFields(await change({ [one.key]: "older" })), [
    `customFields.${one.key}`,
  ]);
});

test("a key is unique in a workspace, including archived fields, and free in another", async () => {
  const { body: field } = await add({});
  assert.deepEqual(failingFields(await add({ key: field.key })), ["key"]);
  await patch(field.id, { archived: true });
  assert.deepEqual(failingFields(await add({ key: field.key })), ["key"]);
  const { token } = account;
  const json = { name: unique("workspace") };
  const { body } = await api.send("POST", "/api/v1/crm/workspaces", { token, json });
  const { id, archived, ...copy } = { ...field, options: null };
  const path = `/api/v1/crm/workspaces/${body.id}/custom-fields`;
  assert.ok(id && archived === false);
  assert.equal((await api.send("POST", path, { token, json: copy })).status, 201);
});

test("an archived field is unknown to new leads, listed only on request, and can be restored", async () => {
  const { body: field } = await add({});
  const idsOf = (fields: { id: number }[]) => fields.map(({ id }) => id);
  assert.equal((await patch(field.id, { archived: true })).status, 200);
  const refused = await createLead({ [field.key]: "x" });
  assert.deepEqual(failingFields(refused), [`customFields.${field.key}`]);
  assert.ok(!idsOf(await list()).includes(field.id));
  assert.ok(idsOf(await list("?includeArchived=true")).includes(field.id));
  assert.equal((await patch(field.id, { archived: false })).status, 200);
  assert.equal((await createLead({ [field.key]: "x" })).status, 201);
});

test("a field in use can only be archived, an unused one can be deleted", async () => {
  const { body: used } = await add({});
  const { body: unused } = await add({});
  await createLead({ [used.key]: "x" });
  await createLead({ [used.key]: null });
  const refused = await remove(used.id);
  assert.deepEqual([refused.status, refused.body.type], [409, "conflict"]);
  assert.match(refused.body.detail, /archive it with archived: true/);
  assert.equal((await remove(unused.id)).status, 204);
  assert.equal((await remove(unused.id)).status, 404);
  const answer = await createLead({ [unused.key]: "x" });
  assert.deepEqual(failingFields(answer), [`customFields.${unused.key}`]);
  assert.equal((await add({ key: unused.key })).status, 201);
});

test("a workspace holds at most 200 custom fields", async () => {
  const { account_id, token, workspace_id } = await makeAccount(api.app);
  const stamps = { created_at: new Date(), updated_at: new Date() };
  const rows = Array.from({ length: 199 }, (_, position) => ({
    account_id,
    workspace_id,
    key: `f${position}`,
    label: "filler",
    type: "text",
    position,
    ...stamps,
  }));
  await api.app.db.query.insertInto("custom_fields").values(rows).execute();
  const path = `/api/v1/crm/workspaces/${workspace_id}/custom-fields`;
  const answers = [];
  for (const key of ["one", "two"]) {
    const json = { key, label: key, type: "text" };
    answers.push((await api.send("POST", path, { token, json })).status);
  }
  assert.deepEqual(answers, [201, 409]);
});

test("audits every change of a custom field, and a repeated key changes it once", async () => {
  const headers = { "idempotency-key": unique("key") };
  const json = { key: newKey(), label: "a", type: "text" };
  const first = await send("POST", "/custom-fields", json, headers);
  const second = await send("POST", "/custom-fields", json, headers);
  assert.deepEqual([first.status, second.text], [201, first.text]);
  await patch(first.body.id, { label: "b" });
  await remove(first.body.id);
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "user_id"])
    .where("account_id", "=", account.account_id)
    .where("subject_id", "=", String(first.body.id))
    .where("action", "like", "custom_field.%")
    .orderBy("id")
    .execute();
  assert.deepEqual(
    entries,
    // A deletion archives the field first.
    ["created", "updated", "updated", "deleted"].map((done) => ({
      action: `custom_field.${done}`,
      user_id: account.owner_id,
    })),
  );
});

test("custom fields are read with permissions for leads and changed with crm.manage", async () => {
  const { body: field } = await add({});
  const path = `${base}/custom-fields`;
  const look = ["crm.read", "crm.leads.create", "crm.manage"] as const;
  await assertGuarded(api, account, { method: "GET", path }, look);
  const json = { key: newKey(), label: "x", type: "text" };
  await assertGuarded(api, account, { method: "POST", path, json }, ["crm.manage"]);
  const one = `${path}/${field.id}`;
  const patched = { method: "PATCH", path: one, json: { label: "x" } };
  await assertGuarded(api, account, patched, ["crm.manage"]);
  await assertGuarded(api, account, { method: "DELETE", path: one }, ["crm.manage"]);
});

test("a custom field of another workspace or account is not found", async () => {
  const { body: field } = await add({});
  const other = await makeAccount(api.app);
  const elsewhere = `/../${other.workspace_id}/custom-fields`;
  for (const path of [`${elsewhere}/${field.id}`, "/custom-fields/999999999", "/custom-fields/x"]) {
    assert.equal((await send("PATCH", path, { label: "x" })).status, 404, path);
    assert.equal((await send("DELETE", path)).status, 404, path);
  }
  assert.equal((await send("GET", elsewhere)).status, 404);
});
