// Contract 2.1: the lead in responses.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeContact, makeCustomField, optionId } from "../support/crm-factory.ts";
import { makeToken, makeUser } from "../support/account-factory.ts";
import { startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;

before(async () => {
  lead = await startLeadApi();
});
after(() => lead.api.close());

const nineteen = [
  "id",
  "workspaceId",
  "name",
  "email",
  "phone",
  "assignedAgentId",
  "contactId",
  "statusId",
  "sourceId",
  "priorityId",
  "customFields",
  "createdBy",
  "createdAt",
  "updatedAt",
  "status",
  "source",
  "priority",
  "contact",
  "collaborators",
];

const option = (picklist: "status" | "source" | "priority", value: string) =>
  optionId(lead.api.app, lead.account, picklist, value);

test("a lead with only a phone has exactly the nineteen fields, with every default", async () => {
  lead.api.clock.set("2026-03-01T10:20:30.456Z");
  const { status, body } = await lead.create({ phone: "9876543210" });
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(body), nineteen);
  const { id, contactId } = body;
  assert.ok(Number.isSafeInteger(id) && id > 0);
  assert.ok(Number.isSafeInteger(contactId) && contactId > 0);
  const [statusId, priorityId] = [
    await option("status", "new"),
    await option("priority", "medium"),
  ];
  assert.deepEqual(body, {
    id,
    workspaceId: lead.account.workspace_id,
    name: "Untitled",
    email: null,
    phone: "9876543210",
    assignedAgentId: null,
    contactId,
    statusId,
    sourceId: null,
    priorityId,
    customFields: {},
    createdBy: lead.account.owner_id,
    createdAt: "2026-03-01T10:20:30.456Z",
    updatedAt: "2026-03-01T10:20:30.456Z",
    status: { id: statusId, value: "new", label: "New", color: "#2563eb" },
    source: null,
    priority: { id: priorityId, value: "medium", label: "Medium", color: "#d97706" },
    contact: { id: contactId, name: "Untitled", phone: "9876543210" },
    collaborators: [],
  });
});

test("a lead with every field answers each as it was sent, with its options expanded", async () => {
  await makeCustomField(lead.api.app, lead.account, { key: "budget", type: "number" });
  const assignedAgentId = await makeUser(lead.api.app, lead.account);
  const contactId = await makeContact(lead.api.app, lead.account, {
    phone: "9000000001",
    name: "Carla",
  });
  const [statusId, sourceId, priorityId] = [
    await option("status", "qualified"),
    await option("source", "website"),
    await option("priority", "high"),
  ];
  const sent = {
    phone: "9876543211",
    name: "Zoë 🙂 O'Neil",
    email: "zoe@example.com",
    assignedAgentId,
    contactId,
    statusId,
    sourceId,
    priorityId,
    customFields: { budget: 1250.5 },
  };
  const { status, body } = await lead.create(sent);
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(body), nineteen);
  assert.deepEqual(body, {
    ...sent,
    id: body.id,
    workspaceId: lead.account.workspace_id,
    createdBy: lead.account.owner_id,
    createdAt: body.createdAt,
    updatedAt: body.createdAt,
    status: { id: statusId, value: "qualified", label: "Qualified", color: "#0d9488" },
    source: { id: sourceId, value: "website", label: "Website", color: null },
    priority: { id: priorityId, value: "high", label: "High", color: "#dc2626" },
    contact: { id: contactId, name: "Carla", phone: "9000000001" },
    collaborators: [],
  });
});

test("createdBy is the token's user, and the owner for an account token", async () => {
  const user_id = await makeUser(lead.api.app, lead.account, ["crm.leads.create"]);
  const token = await makeToken(lead.api.app, lead.account, { kind: "agent", user_id });
  const byAgent = await lead.create({ phone: "9876543212" }, { token });
  assert.equal(byAgent.body.createdBy, user_id);
  const byAccount = await lead.create({ phone: "9876543212" });
  assert.equal(byAccount.body.createdBy, lead.account.owner_id);
});

test("createdAt and updatedAt are the time of creation in ISO 8601, UTC with Z", async () => {
  lead.api.clock.set("2026-12-31T23:59:59.000Z");
  const { body } = await lead.create({ phone: "9876543213" });
  assert.equal(body.createdAt, "2026-12-31T23:59:59.000Z");
  assert.equal(body.updatedAt, "2026-12-31T23:59:59.000Z");
});

test("the lead that was answered is the lead that is stored", async () => {
  const { body } = await lead.create({ phone: "9876543214", name: "Kept" });
  const row = await lead.api.app.db.query
    .selectFrom("leads")
    .selectAll()
    .where("account_id", "=", lead.account.account_id)
    .where("id", "=", body.id)
    .executeTakeFirstOrThrow();
  assert.equal(row.name, "Kept");
  assert.equal(row.phone, "9876543214");
  assert.equal(row.contact_id, body.contactId);
  assert.equal(row.created_at.toISOString(), body.createdAt);
});
