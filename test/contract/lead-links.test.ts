// Contract 4.1, rules 1 and 3: what a lead is linked with, and whose it may be.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeContact, makeCustomField, makeOption, optionId } from "../support/crm-factory.ts";
import { makeAccount, makeUser, type TestAccount } from "../support/account-factory.ts";
import { insertWorkspace } from "../../server/crm/workspaces/insert-workspace.ts";
import { assertProblem, leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;
let foreign: TestAccount;
/** Another workspace of the same account. */
let sibling: Pick<TestAccount, "account_id" | "workspace_id">;

before(async () => {
  lead = await startLeadApi();
  const { app } = lead.api;
  foreign = await makeAccount(app);
  const { account_id } = lead.account;
  const workspace_id = await app.db.query
    .transaction()
    .execute((tx) => insertWorkspace(tx, account_id, { name: "Sibling" }, new Date()));
  sibling = { account_id, workspace_id };
});
after(() => lead.api.close());

const contactsOf = (phone: string) =>
  lead.api.app.db.query
    .selectFrom("contacts")
    .select(["id", "name", "workspace_id"])
    .where("account_id", "=", lead.account.account_id)
    .where("phone", "=", phone)
    .orderBy("id")
    .execute();

test("a new contact takes the lead's name and phone", async () => {
  const { body } = await lead.create({ phone: "9200000001", name: "First" });
  assert.deepEqual(body.contact, { id: body.contactId, name: "First", phone: "9200000001" });
  assert.equal((await contactsOf("9200000001")).length, 1);
});

test("a found contact keeps its own name, and every create makes a lead", async () => {
  const first = (await lead.create({ phone: "9200000002", name: "First" })).body;
  const second = (await lead.create({ phone: "9200000002", name: "Second" })).body;
  assert.notEqual(second.id, first.id);
  assert.equal(second.name, "Second");
  assert.deepEqual(second.contact, { id: first.contactId, name: "First", phone: "9200000002" });
  assert.equal((await contactsOf("9200000002")).length, 1);
});

test("a contact belongs to one workspace: the same phone in another makes another", async () => {
  const here = (await lead.create({ phone: "9200000003" })).body;
  const there = await lead.api.send("POST", leadPath(sibling.workspace_id), {
    token: lead.account.token,
    json: { phone: "9200000003" },
  });
  assert.notEqual(there.body.contactId, here.contactId);
  assert.equal((await contactsOf("9200000003")).length, 2);
});

test("with contactId the lead keeps the phone as sent, and contact shows the linked contact", async () => {
  const contactId = await makeContact(lead.api.app, lead.account, {
    phone: "9200000004",
    name: "Linked",
  });
  const { status, body } = await lead.create({ phone: "9200000005", name: "Other", contactId });
  assert.equal(status, 201);
  assert.equal(body.phone, "9200000005");
  assert.equal(body.contactId, contactId);
  assert.deepEqual(body.contact, { id: contactId, name: "Linked", phone: "9200000004" });
  assert.deepEqual(await contactsOf("9200000005"), []);
});

test("twenty concurrent requests for a new phone create twenty leads and one contact", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => lead.create({ phone: "9200000006", name: `N${i}` })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 201),
  );
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 20);
  assert.equal(new Set(answers.map(({ body }) => body.contactId)).size, 1);
  const [contact, ...more] = await contactsOf("9200000006");
  assert.deepEqual(more, []);
  for (const { body } of answers) assert.equal(body.contact.name, contact?.name);
});

test("a contact of another workspace or another account is INVALID_CONTACT", async () => {
  const { app } = lead.api;
  const phone = "9200000007";
  const elsewhere = await makeContact(app, sibling, { phone, name: "Sibling" });
  const strange = await makeContact(app, foreign, { phone, name: "Foreign" });
  for (const contactId of [elsewhere, strange]) {
    assertProblem(await lead.create({ phone, contactId }), 400, "INVALID_CONTACT");
  }
});

test("an agent of another account, or an inactive one, is INVALID_AGENT", async () => {
  const { app } = lead.api;
  const strange = await makeUser(app, foreign);
  const gone = await makeUser(app, lead.account);
  await app.db.query
    .updateTable("users")
    .set({ active: false })
    .where("account_id", "=", lead.account.account_id)
    .where("id", "=", gone)
    .execute();
  for (const assignedAgentId of [strange, gone, foreign.owner_id]) {
    const answer = await lead.create({ phone: "9200000008", assignedAgentId });
    assertProblem(answer, 400, "INVALID_AGENT");
  }
});

test("an agent who has no role, and the owner, can be assigned", async () => {
  const agent = await makeUser(lead.api.app, lead.account);
  for (const assignedAgentId of [agent, lead.account.owner_id]) {
    const { status, body } = await lead.create({ phone: "9200000009", assignedAgentId });
    assert.equal(status, 201);
    assert.equal(body.assignedAgentId, assignedAgentId);
  }
});

test("an option of another picklist, another workspace or another account fails on its field", async () => {
  const { app } = lead.api;
  const lists = { statusId: "status", sourceId: "source", priorityId: "priority" } as const;
  for (const [field, picklist] of Object.entries(lists)) {
    for (const other of Object.values(lists).filter((list) => list !== picklist)) {
      const id = await makeOption(app, lead.account, { picklist: other });
      assert.match(
        await lead.refuse({ phone: "9200000010", [field]: id }, field),
        /picklist|option/,
      );
    }
    for (const owner of [sibling, foreign]) {
      const id = await makeOption(app, owner, { picklist });
      await lead.refuse({ phone: "9200000010", [field]: id }, field);
    }
  }
});

test("an archived option fails on its field", async () => {
  for (const [field, picklist] of [
    ["statusId", "status"],
    ["sourceId", "source"],
    ["priorityId", "priority"],
  ] as const) {
    const id = await makeOption(lead.api.app, lead.account, { picklist, archived: true });
    await lead.refuse({ phone: "9200000011", [field]: id }, field);
  }
});

test("the workspace's own options are taken, and their expanded form is answered", async () => {
  const { app } = lead.api;
  const statusId = await makeOption(app, lead.account, { picklist: "status", value: "hot" });
  const sourceId = await optionId(app, lead.account, "source", "referral");
  const priorityId = await optionId(app, lead.account, "priority", "low");
  const { body } = await lead.create({ phone: "9200000012", statusId, sourceId, priorityId });
  assert.deepEqual(body.status, { id: statusId, value: "hot", label: "hot", color: null });
  assert.equal(body.source.value, "referral");
  assert.equal(body.priority.label, "Low");
});

test("omitted options are the workspace's present defaults, and no source", async () => {
  const { app } = lead.api;
  const changed = await makeAccount(app);
  const won = await optionId(app, changed, "status", "won");
  const setDefault = (isDefault: boolean, value: string) =>
    app.db.query
      .updateTable("picklist_options")
      .set({ is_default: isDefault })
      .where("account_id", "=", changed.account_id)
      .where("picklist", "=", "status")
      .where("value", "=", value)
      .execute();
  await setDefault(false, "new");
  await setDefault(true, "won");
  const { body } = await lead.api.send("POST", leadPath(changed.workspace_id), {
    token: changed.token,
    json: { phone: "9200000013" },
  });
  assert.equal(body.statusId, won);
  assert.equal(body.status.value, "won");
  assert.equal(body.sourceId, null);
  assert.equal(body.source, null);
});

const phone = "9300000000";
const custom = (value: Record<string, unknown>) => ({ phone, customFields: value });

test("customFields takes a value of each field's type and answers it as it was sent", async () => {
  const { app } = lead.api;
  const options = ["red", "blue"];
  await makeCustomField(app, lead.account, { key: "note", type: "text" });
  await makeCustomField(app, lead.account, { key: "budget", type: "number" });
  await makeCustomField(app, lead.account, { key: "vip", type: "boolean" });
  await makeCustomField(app, lead.account, { key: "due", type: "date" });
  await makeCustomField(app, lead.account, { key: "colour", type: "select", options });
  await makeCustomField(app, lead.account, { key: "colours", type: "multiselect", options });
  const values = {
    note: 'any "text" 🙂',
    budget: -12.5,
    vip: false,
    due: "2028-02-29",
    colour: "blue",
    colours: ["red", "blue"],
  };
  const { status, body } = await lead.create(custom(values));
  assert.equal(status, 201);
  assert.deepEqual(body.customFields, values);
});

test("a custom field that is null equals one that is omitted", async () => {
  const { body } = await lead.create(custom({ note: null, budget: 1 }));
  assert.deepEqual(body.customFields, { budget: 1 });
  assert.deepEqual((await lead.create(custom({}))).body.customFields, {});
});

test("a value of the wrong type fails on customFields.<key>", async () => {
  const wrong: Record<string, unknown[]> = {
    note: [1, true, [], {}, "x".repeat(5_001)],
    budget: ["1", true, [], {}],
    vip: ["true", 0, [], {}],
    due: ["2027-02-29", "2026-13-01", "2026-1-1", "today", "2026-01-01T00:00:00Z", 20260101, ""],
    colour: ["green", "Red", "", ["red"], 1, {}],
    colours: ["red", ["green"], ["red", "red"], [1], {}, [null]],
  };
  for (const [key, values] of Object.entries(wrong)) {
    for (const value of values) await lead.refuse(custom({ [key]: value }), `customFields.${key}`);
  }
});

test("an integer beyond 64 bits in a custom field fails on its path", async () => {
  const answer = await lead.createRaw(
    `{"phone":"${phone}","customFields":{"budget":9223372036854775808}}`,
  );
  assertProblem(answer, 422, "validation-failed");
  assert.equal(answer.body.errors[0].field, "customFields.budget");
});

test("a key that is not a custom field of the workspace fails on customFields.<key>", async () => {
  await makeCustomField(lead.api.app, sibling, { key: "elsewhere", type: "text" });
  for (const key of ["elsewhere", "Note", "constructor", "toString", "", "a.b"]) {
    await lead.refuse(custom({ [key]: "x" }), `customFields.${key}`);
  }
  const answer = await lead.createRaw(`{"phone":"${phone}","customFields":{"__proto__":{}}}`);
  assertProblem(answer, 422, "validation-failed");
});

test("a required custom field fails when it is omitted, null or empty", async () => {
  const { app } = lead.api;
  const strict = await makeAccount(app);
  await makeCustomField(app, strict, { key: "must", type: "text", required: true });
  const post = (json: object) =>
    lead.api.send("POST", leadPath(strict.workspace_id), { token: strict.token, json });
  for (const customFields of [undefined, null, {}, { must: null }, { must: "" }]) {
    const answer = await post({ phone, customFields });
    assertProblem(answer, 422, "validation-failed");
    assert.deepEqual(answer.body.errors, [{ field: "customFields.must", reason: "is required" }]);
  }
  assert.equal((await post({ phone, customFields: { must: "x" } })).status, 201);
});
