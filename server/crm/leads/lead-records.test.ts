import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, makeAgentToken, makeUser } from "../../../test/support/account-factory.ts";
import type { TestAccount } from "../../../test/support/account-factory.ts";
import { insertWorkspace } from "../workspaces/insert-workspace.ts";

let api: TestApi;
let account: TestAccount;
let other: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  other = await makeAccount(api.app);
});
after(() => api.close());

const base = (of: TestAccount = account) => `/api/v1/crm/workspaces/${of.workspace_id}`;
const get = (path: string, token = account.token) => api.send("GET", base() + path, { token });
const patch = (id: number, json: unknown) =>
  api.send("PATCH", `${base()}/leads/${id}`, { token: account.token, json });

let phones = 7_000_000_000;
async function makeLead(json: object = {}, of: TestAccount = account): Promise<Answer["body"]> {
  const { status, body } = await api.send("POST", `${base(of)}/leads/create`, {
    token: of.token,
    json: { phone: String(phones++), ...json },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function option(picklist: string, value: string, of: TestAccount = account) {
  const { id } = await api.app.db.query
    .selectFrom("picklist_options")
    .select("id")
    .where("account_id", "=", of.account_id)
    .where("workspace_id", "=", of.workspace_id)
    .where("picklist", "=", picklist)
    .where("value", "=", value)
    .executeTakeFirstOrThrow();
  return id;
}

/** A custom field, and a process that knows it. */
async function addField(key: string, type: string, more: object = {}) {
  await addFieldElsewhere(key, type, more);
  await api.app.workspaceSchemas.refresh(account.account_id, account.workspace_id);
}

/** A custom field that another process has just added. */
async function addFieldElsewhere(key: string, type: string, more: object = {}) {
  const now = new Date();
  await api.app.db.query
    .insertInto("custom_fields")
    .values({
      account_id: account.account_id,
      workspace_id: account.workspace_id,
      key,
      label: key,
      type,
      position: 0,
      created_at: now,
      updated_at: now,
      ...more,
    })
    .execute();
  await api.app.db.query
    .updateTable("workspaces")
    .set((eb) => ({ schema_version: eb("schema_version", "+", 1) }))
    .where("account_id", "=", account.account_id)
    .where("id", "=", account.workspace_id)
    .execute();
}

async function eventsOf(leadId: number) {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select(["type", "data"])
    .where("account_id", "=", account.account_id)
    .orderBy("id")
    .execute();
  return rows.filter(({ data }) => (data as { id: number }).id === leadId);
}

test("a lead reads back exactly as its creation answered", async () => {
  const created = await makeLead({ name: "Ada", email: "ada@example.com" });
  const { status, body } = await get(`/leads/${created.id}`);
  assert.equal(status, 200);
  assert.deepEqual(body, created);
  assert.deepEqual(Object.keys(body), Object.keys(created));
});

test("another account's leads, contacts and timelines are byte for byte indistinguishable from missing ones", async () => {
  const theirs = await makeLead({}, other);
  const user = await makeUser(api.app, account);
  const nowhere = 987_654_321;
  const paths = (lead: number, contact: number) =>
    [
      ["GET", `/leads/${lead}`],
      ["PATCH", `/leads/${lead}`, { name: "x" }],
      ["GET", `/leads/${lead}/timeline`],
      ["POST", `/leads/${lead}/notes`, { text: "x" }],
      ["GET", `/leads/${lead}/collaborators`],
      ["PUT", `/leads/${lead}/collaborators/${user}`],
      ["DELETE", `/leads/${lead}/collaborators/${user}`],
      ["GET", `/contacts/${contact}`],
      ["GET", `/contacts/${contact}/leads`],
      ["PATCH", `/contacts/${contact}`, { name: "x" }],
    ] as const;
  const missing = paths(nowhere, nowhere);
  for (const [i, [method, path, json]] of paths(theirs.id, theirs.contactId).entries()) {
    const foreign = await api.send(method, base() + path, { token: account.token, json });
    const absent = await api.send(method, base() + missing[i]![1], { token: account.token, json });
    // Their workspace by our token, too.
    const crossed = await api.send(method, base(other) + path, { token: account.token, json });
    for (const answer of [foreign, absent, crossed]) {
      assert.equal(answer.status, 404, `${method} ${path}`);
      assert.equal(
        answer.text.replace(/req_\w+/, ""),
        absent.text.replace(/req_\w+/, ""),
        `${method} ${path}`,
      );
    }
  }
  assert.equal(
    (await api.send("GET", `${base(other)}/leads/${theirs.id}`, other)).body.name,
    "Untitled",
  );
});

test("a lead or contact of another workspace of the same account is not found", async () => {
  const second = await api.app.db.query
    .transaction()
    .execute((tx) => insertWorkspace(tx, account.account_id, { name: "Second" }, new Date()));
  const lead = await makeLead();
  const there = `/api/v1/crm/workspaces/${second}`;
  for (const path of [
    `/leads/${lead.id}`,
    `/leads/${lead.id}/timeline`,
    `/contacts/${lead.contactId}`,
  ]) {
    assert.equal((await api.send("GET", there + path, account)).status, 404, path);
  }
  const patched = await api.send("PATCH", `${there}/leads/${lead.id}`, {
    token: account.token,
    json: { name: "x" },
  });
  assert.equal(patched.status, 404);
  assert.deepEqual((await api.send("GET", `${there}/leads`, account)).body.data, []);
});

test("a foreign collaborator, contact or option in a filter finds nothing of the other account", async () => {
  const theirs = await makeLead({}, other);
  const mine = await makeLead();
  const stranger = await makeUser(api.app, other);
  const put = await api.send("PUT", `${base()}/leads/${mine.id}/collaborators/${stranger}`, {
    token: account.token,
  });
  assert.equal(put.status, 404);
  assert.deepEqual((await get(`/leads?contactId=${theirs.contactId}`)).body.data, []);
  assert.deepEqual((await get(`/leads?statusId=${theirs.statusId}`)).body.data, []);
});

test("leads and contacts need crm.read to be seen and crm.write to be changed", async () => {
  const lead = await makeLead();
  const reader = await makeAgentToken(api.app, account, ["crm.read"]);
  const writer = await makeAgentToken(api.app, account, ["crm.write"]);
  assert.equal((await get("/leads", reader)).status, 200);
  assert.equal((await get("/leads", writer)).status, 403);
  assert.equal((await get("/contacts", writer)).status, 403);
  const change = (token: string, path: string) =>
    api.send("PATCH", base() + path, { token, json: { name: "New" } });
  assert.equal((await change(reader, `/leads/${lead.id}`)).status, 403);
  assert.equal((await change(writer, `/leads/${lead.id}`)).status, 200);
  assert.equal((await change(reader, `/contacts/${lead.contactId}`)).status, 403);
  assert.equal((await change(writer, `/contacts/${lead.contactId}`)).status, 200);
});

test("a contact shows its time zone, which a user can change, and the WhatsApp user IDs known for its phone", async () => {
  const { contactId } = await makeLead({ phone: "7123456789" });
  const path = `/contacts/${contactId}`;
  const change = (json: object) => api.send("PATCH", base() + path, { token: account.token, json });
  const fresh = await get(path);
  assert.deepEqual([fresh.body.timeZone, fresh.body.bsuids], [null, []]);
  const changed = await change({ timeZone: "America/New_York" });
  assert.deepEqual([changed.status, changed.body.timeZone], [200, "America/New_York"]);
  const wrong = await change({ timeZone: "Mars/Olympus", name: "Not stored" });
  assert.deepEqual(
    [wrong.status, wrong.body.errors],
    [
      422,
      [{ field: "timeZone", reason: "must be an IANA time zone such as Asia/Kolkata, or null" }],
    ],
  );
  for (const [{ account_id }, bsuid] of [
    [account, "IN.2"],
    [account, "IN.1"],
    [other, "IN.3"],
  ] as const)
    await sql`insert into person_bsuids (account_id, bsuid, phone_key)
      values (${account_id}, ${bsuid}, phone_key('917123456789'))`.execute(api.app.db.query);
  for (const { name, timeZone, bsuids } of [
    (await get(path)).body,
    (await get("/contacts?phone=7123456789")).body.data[0],
  ])
    assert.deepEqual(
      [name, timeZone, bsuids],
      [fresh.body.name, "America/New_York", ["IN.1", "IN.2"]],
    );
  assert.equal((await change({ timeZone: null })).body.timeZone, null);
});

test("an inactive workspace hides its leads and contacts", async () => {
  const closed = await makeAccount(api.app);
  const lead = await makeLead({}, closed);
  await api.app.db.query
    .updateTable("workspaces")
    .set({ active: false })
    .where("account_id", "=", closed.account_id)
    .execute();
  await api.app.workspaceSchemas.refresh(closed.account_id, closed.workspace_id);
  for (const path of ["/leads", `/leads/${lead.id}`, "/contacts", "/leads/export"]) {
    assert.equal((await api.send("GET", base(closed) + path, closed)).status, 404, path);
  }
});

test("filters leads by each filter and by all together", async () => {
  const agent = await makeUser(api.app, account);
  const [won, high, website] = await Promise.all([
    option("status", "won"),
    option("priority", "high"),
    option("source", "website"),
  ]);
  const wanted = await makeLead({
    assignedAgentId: agent,
    statusId: won,
    priorityId: high,
    sourceId: website,
  });
  await makeLead();
  const filters = [
    `statusId=${won}`,
    `sourceId=${website}`,
    `priorityId=${high}`,
    `assignedAgentId=${agent}`,
    `contactId=${wanted.contactId}`,
    `phone=${wanted.phone}`,
  ];
  const since = `createdFrom=${wanted.createdAt}`;
  for (const filter of [...filters, [...filters, since].join("&")]) {
    const { body } = await get(`/leads?${filter}`);
    assert.deepEqual(body.data, [wanted], filter);
  }
  const until = await get(`/leads?phone=${wanted.phone}&createdTo=${wanted.createdAt}`);
  assert.deepEqual(until.body.data, [], "createdTo is exclusive");
});

test("a malformed filter is 422 on its field", async () => {
  const cases = {
    statusId: "won",
    phone: "12",
    createdFrom: "yesterday",
    createdTo: "2026-02-30T00:00:00Z",
    limit: "201",
    cursor: "!",
    stausId: "1",
  };
  for (const [field, value] of Object.entries(cases)) {
    const { status, body } = await get(`/leads?${field}=${encodeURIComponent(value)}`);
    assert.equal(status, 422, field);
    assert.deepEqual(
      body.errors.map((error: { field: string }) => error.field),
      [field],
    );
  }
});

test("digits search a lead by how its phone starts, other text by a part of name or email in any case", async () => {
  const zoe = await makeLead({
    phone: "6123459999",
    name: "Zoë 100%_sure",
    email: "z.o.e@Example.org",
  });
  const find = async (q: string) =>
    (await get(`/leads?q=${encodeURIComponent(q)}`)).body.data.map(
      (lead: { id: number }) => lead.id,
    );
  for (const q of ["612345", "6123459999", "zoË", "O.E@EXAMPLE", "100%_", " 100% "]) {
    assert.deepEqual(await find(q), [zoe.id], q);
  }
  for (const q of ["12345", "61234599990", "1%0", "_oe", "\\"])
    assert.deepEqual(await find(q), [], q);
});

test("a search for a number with the country code finds it in lists and the export of leads, and among contacts", async () => {
  const lead = await makeLead({ phone: "6123458888" });
  const found = (data: { id: number }[]) => data.map(({ id }) => id);
  for (const text of ["+916123458888", " +91 61234-58888", "00916123458888", "06123458888"]) {
    const q = encodeURIComponent(text);
    assert.deepEqual(found((await get(`/leads?q=${q}`)).body.data), [lead.id], text);
    assert.deepEqual(found((await get(`/contacts?q=${q}`)).body.data), [lead.contactId], text);
    const lines = (await get(`/leads/export?q=${q}`)).text.trim().split("\r\n");
    assert.equal(lines.length, 2, text);
  }
  for (const text of ["+446123458888", "+9161234588880"])
    assert.deepEqual((await get(`/leads?q=${encodeURIComponent(text)}`)).body.data, [], text);
});

test("pages show each lead once while leads are being created", async () => {
  const own = await makeAccount(api.app);
  const ids: number[] = [];
  for (let i = 0; i < 25; i++) ids.push((await makeLead({}, own)).id);
  const seen: number[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor ? `?limit=4&cursor=${cursor}` : "?limit=4";
    const { body } = await api.send("GET", `${base(own)}/leads${query}`, own);
    seen.push(...body.data.map((lead: { id: number }) => lead.id));
    cursor = body.nextCursor;
    await makeLead({}, own);
  } while (cursor);
  assert.deepEqual(seen, ids.toReversed());
});

test("a patch changes the given fields, clears by null, and keeps the others", async () => {
  const agent = await makeUser(api.app, account);
  const website = await option("source", "website");
  const lead = await makeLead({
    email: "a@example.com",
    assignedAgentId: agent,
    sourceId: website,
  });
  const won = await option("status", "won");
  const { status, body } = await patch(lead.id, {
    name: "Grace",
    email: null,
    phone: "6000000001",
    assignedAgentId: null,
    sourceId: null,
    statusId: won,
  });
  assert.equal(status, 200);
  assert.deepEqual(
    { ...body, updatedAt: null },
    {
      ...lead,
      name: "Grace",
      email: null,
      phone: "6000000001",
      assignedAgentId: null,
      sourceId: null,
      source: null,
      statusId: won,
      status: { id: won, value: "won", label: "Won", color: "#16a34a" },
      updatedAt: null,
    },
  );
  assert.deepEqual((await get(`/leads/${lead.id}`)).body, body);
});

test("a patch records its changes on the timeline and in the outbox, with old and new IDs, and records nothing without a change", async () => {
  const lead = await makeLead();
  const [won, agent] = [await option("status", "won"), await makeUser(api.app, account)];
  await patch(lead.id, { name: "Grace", statusId: won, assignedAgentId: agent });
  const again = await patch(lead.id, { name: "Grace", statusId: won });
  assert.equal(again.status, 200);
  const { body } = await get(`/leads/${lead.id}/timeline`);
  assert.deepEqual(
    body.data.map((entry: { kind: string }) => entry.kind),
    ["updated", "created"],
  );
  assert.equal(body.data[0].userId, account.owner_id);
  assert.deepEqual(body.data[0].data.changes, [
    { field: "name" },
    { field: "assignedAgentId", from: null, to: agent },
    { field: "statusId", from: lead.statusId, to: won },
  ]);
  const events = await eventsOf(lead.id);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["lead.created", "lead.updated"],
  );
  assert.deepEqual((events[1]!.data as { changed: string[] }).changed, [
    "name",
    "assignedAgentId",
    "statusId",
  ]);
});

test("custom fields are merged by a patch, cleared by null, and a required one stays", async () => {
  await addField("budget", "number");
  await addField("city", "text");
  const lead = await makeLead({ customFields: { budget: 5, city: "Pune" } });
  const merged = await patch(lead.id, { customFields: { budget: 7 } });
  assert.deepEqual(merged.body.customFields, { budget: 7, city: "Pune" });
  const cleared = await patch(lead.id, { customFields: { budget: null } });
  assert.deepEqual(cleared.body.customFields, { city: "Pune" });
  await api.app.db.query
    .updateTable("custom_fields")
    .set({ required: true })
    .where("account_id", "=", account.account_id)
    .where("key", "=", "city")
    .execute();
  await api.app.workspaceSchemas.refresh(account.account_id, account.workspace_id);
  const refused = await patch(lead.id, { customFields: { city: null, budget: "x", planet: 1 } });
  assert.equal(refused.status, 422);
  assert.deepEqual(refused.body.errors, [
    { field: "customFields.city", reason: "is required and cannot be cleared" },
    { field: "customFields.budget", reason: "must be a number" },
    { field: "customFields.planet", reason: "is not a custom field of this workspace" },
  ]);
  // An omitted required field does not prevent other changes.
  assert.equal((await patch(lead.id, { name: "Still fine" })).status, 200);
  await api.app.db.query
    .updateTable("custom_fields")
    .set({ required: false })
    .where("account_id", "=", account.account_id)
    .execute();
  await api.app.workspaceSchemas.refresh(account.account_id, account.workspace_id);
});

test("a patch takes a field that another process has just added", async () => {
  const lead = await makeLead();
  await addFieldElsewhere("just_added", "text");
  const patched = await patch(lead.id, { customFields: { just_added: "x" } });
  assert.equal(patched.status, 200, patched.text);
});

test("a patch refuses what creation refuses: every failing field at once, an unknown agent with INVALID_AGENT", async () => {
  const lead = await makeLead();
  const bad = await patch(lead.id, {
    name: null,
    email: "x",
    phone: "123",
    statusId: await option("source", "website"),
    priorityId: null,
    sourceId: await option("source", "website", other),
    contactId: 1,
  });
  assert.equal(bad.status, 422);
  assert.deepEqual(bad.body.errors.map((error: { field: string }) => error.field).toSorted(), [
    "contactId",
    "email",
    "name",
    "phone",
    "priorityId",
    "sourceId",
    "statusId",
  ]);
  for (const body of [{}, { customFields: {} }])
    assert.equal((await patch(lead.id, body)).status, 422);
  for (const id of [4_000_000_000, await makeUser(api.app, other)]) {
    const { status, body } = await patch(lead.id, { assignedAgentId: id });
    assert.deepEqual([status, body.type], [400, "INVALID_AGENT"]);
  }
  assert.deepEqual((await get(`/leads/${lead.id}`)).body, lead);
});

test("a patch never takes an option that was archived meanwhile, however old the process's copy of the schema", async () => {
  const lead = await makeLead();
  const lost = await option("status", "lost");
  await api.app.db.query
    .updateTable("picklist_options")
    .set({ archived_at: new Date() })
    .where("account_id", "=", account.account_id)
    .where("id", "=", lost)
    .execute();
  const { status, body } = await patch(lead.id, { statusId: lost });
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [
    { field: "statusId", reason: "is not a status option of this workspace" },
  ]);
});

test("a repeated Idempotency-Key patches once", async () => {
  const lead = await makeLead();
  const send = () =>
    api.send("PATCH", `${base()}/leads/${lead.id}`, {
      token: account.token,
      json: { name: "Once" },
      headers: { "idempotency-key": "patch-once" },
    });
  const first = await send();
  const second = await send();
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("idempotency-replayed"), "true");
});

test("the timeline lists notes with their author, newest first, in pages", async () => {
  const lead = await makeLead();
  for (const text of ["one", "two", "three"]) {
    const { status, body } = await api.send("POST", `${base()}/leads/${lead.id}/notes`, {
      token: account.token,
      json: { text },
    });
    assert.equal(status, 201);
    assert.deepEqual([body.kind, body.userId, body.data], ["note", account.owner_id, { text }]);
  }
  const first = await get(`/leads/${lead.id}/timeline?limit=2`);
  const rest = await get(`/leads/${lead.id}/timeline?limit=2&cursor=${first.body.nextCursor}`);
  const texts = [...first.body.data, ...rest.body.data].map((entry) => entry.data.text);
  assert.deepEqual(texts, ["three", "two", "one", undefined]);
  assert.equal(rest.body.nextCursor, null);
  const empty = await api.send("POST", `${base()}/leads/${lead.id}/notes`, {
    token: account.token,
    json: { text: "" },
  });
  assert.equal(empty.status, 422);
});

test("collaborators are added and removed once each, and show on the lead", async () => {
  const lead = await makeLead();
  const user = await makeUser(api.app, account);
  const send = (method: string, id = user) =>
    api.send(method, `${base()}/leads/${lead.id}/collaborators/${id}`, { token: account.token });
  const added = await send("PUT");
  assert.equal(added.status, 200);
  assert.deepEqual(added.body, (await send("PUT")).body);
  const { collaborators } = (await get(`/leads/${lead.id}`)).body;
  assert.deepEqual(collaborators, added.body.data);
  assert.deepEqual(Object.keys(collaborators[0]), ["id", "name", "email"]);
  assert.equal(collaborators[0].id, user);
  assert.deepEqual((await get(`/leads/${lead.id}/collaborators`)).body, added.body);
  assert.deepEqual((await send("DELETE")).body, { data: [] });
  assert.deepEqual((await send("DELETE")).body, { data: [] });
  assert.equal((await send("PUT", 4_000_000_000)).status, 404);
  const kinds = (await get(`/leads/${lead.id}/timeline`)).body.data.map(
    (entry: { kind: string }) => entry.kind,
  );
  assert.deepEqual(kinds, ["collaborator_removed", "collaborator_added", "created"]);
  assert.equal((await eventsOf(lead.id)).length, 3);
});

test("contacts are listed, searched, read with their leads, and changed but for their phone", async () => {
  const lead = await makeLead({ phone: "6222222222", name: "Carla Contact" });
  const second = await makeLead({ phone: "6222222222", name: "Other name" });
  const contact = (await get(`/contacts/${lead.contactId}`)).body;
  assert.deepEqual(
    [contact.name, contact.phone, contact.email],
    ["Carla Contact", "6222222222", null],
  );
  for (const filter of ["phone=6222222222", "q=62222", "q=carla%20con"]) {
    assert.deepEqual((await get(`/contacts?${filter}`)).body, {
      data: [contact],
      nextCursor: null,
    });
  }
  const path = `${base()}/contacts/${contact.id}`;
  const change = (json: unknown) => api.send("PATCH", path, { token: account.token, json });
  const changed = await change({ name: "Carla Renamed", email: "carla@example.com" });
  assert.equal(changed.status, 200);
  assert.deepEqual((await get(`/contacts?q=CARLA@`)).body.data, [changed.body]);
  assert.equal((await change({ email: null })).body.email, null);
  for (const bad of [{}, { phone: "6222222223" }, { name: null }, { email: "x" }]) {
    assert.equal((await change(bad)).status, 422, JSON.stringify(bad));
  }
  const leads = (await get(`/contacts/${contact.id}/leads`)).body.data;
  assert.deepEqual(
    leads.map(({ id }: { id: number }) => id),
    [second.id, lead.id],
  );
  assert.equal(leads[0].contact.name, "Carla Renamed");
});

test("lists each contact once across pages", async () => {
  const own = await makeAccount(api.app);
  for (let i = 0; i < 7; i++) await makeLead({}, own);
  const first = (await api.send("GET", `${base(own)}/contacts?limit=4`, own)).body;
  const rest = (
    await api.send("GET", `${base(own)}/contacts?limit=4&cursor=${first.nextCursor}`, own)
  ).body;
  const ids = [...first.data, ...rest.data].map((contact: { id: number }) => contact.id);
  assert.deepEqual([new Set(ids).size, rest.nextCursor], [7, null]);
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => b - a),
  );
});

const patchMany = (json: unknown, token = account.token) =>
  api.send("PATCH", `${base()}/leads`, { token, json });

test("one request changes status, priority, agent and collaborators of many leads, and records each", async () => {
  const [agent, helper] = [await makeUser(api.app, account), await makeUser(api.app, account)];
  const [won, high] = await Promise.all([option("status", "won"), option("priority", "high")]);
  const some = [await makeLead(), await makeLead(), await makeLead()];
  const ids = some.map(({ id }) => id);
  const change = { ids, statusId: won, priorityId: high, assignedAgentId: agent };
  const { status, body } = await patchMany({ ...change, addCollaborators: [helper, agent] });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body, { updated: 3, unchanged: 0 });
  for (const { id } of some) {
    const lead = (await get(`/leads/${id}`)).body;
    assert.deepEqual([lead.statusId, lead.priorityId, lead.assignedAgentId], [won, high, agent]);
    assert.deepEqual(
      lead.collaborators.map((user: { id: number }) => user.id),
      [agent, helper],
    );
    const events = (await eventsOf(id)).filter(({ type }) => type === "lead.updated");
    assert.equal(events.length, 1);
    const data = events[0]!.data as Record<string, unknown>;
    assert.deepEqual(data["changed"], [
      "assignedAgentId",
      "statusId",
      "priorityId",
      "collaborators",
    ]);
    assert.deepEqual([data["statusId"], data["collaborators"]], [won, [agent, helper]]);
    const { body: timeline } = await get(`/leads/${id}/timeline`);
    assert.deepEqual(
      timeline.data.map(({ kind }: { kind: string }) => kind),
      ["collaborator_added", "collaborator_added", "updated", "created"],
    );
  }
  const audit = await api.send("GET", "/api/v1/audit?limit=1", { token: account.token });
  assert.equal(audit.body.data[0].action, "leads.updated");
  assert.equal(audit.body.data[0].detail.leads, 3);

  const again = await patchMany({ ...change, removeCollaborators: [helper] });
  assert.deepEqual(again.body, { updated: 3, unchanged: 0 });
  const same = await patchMany({ ...change, removeCollaborators: [helper] });
  assert.deepEqual(same.body, { updated: 0, unchanged: 3 });
  const cleared = await patchMany({ ids: ids.slice(1), assignedAgentId: null });
  assert.deepEqual(cleared.body, { updated: 2, unchanged: 0 });
  assert.equal((await get(`/leads/${ids[2]}`)).body.assignedAgentId, null);
});

test("a change of many leads with any violation reports all of them and changes nothing", async () => {
  const [mine, theirs] = [await makeLead(), await makeLead({}, other)];
  const stranger = await makeUser(api.app, other);
  const { status, body } = await patchMany({
    ids: [mine.id, theirs.id, 987_654_321],
    statusId: await option("status", "won", other),
    priorityId: await option("priority", "high"),
    assignedAgentId: stranger,
    addCollaborators: [account.owner_id, stranger],
    removeCollaborators: [2 ** 60],
  });
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [
    { field: "statusId", reason: "is not a status option of this workspace" },
    { field: "assignedAgentId", reason: "matches no known user" },
    { field: "addCollaborators.1", reason: "matches no known user" },
    { field: "removeCollaborators.0", reason: "matches no known user" },
    { field: "ids.1", reason: "is not a lead of this workspace" },
    { field: "ids.2", reason: "is not a lead of this workspace" },
  ]);
  // Integrations send 0 for no agent.
  const zero = await patchMany({ ids: [mine.id], assignedAgentId: 0 });
  assert.deepEqual(zero.body.errors, [
    { field: "assignedAgentId", reason: "matches no known user" },
  ]);
  assert.deepEqual((await get(`/leads/${mine.id}`)).body, mine);
  assert.deepEqual((await patchMany({ ids: [mine.id] })).body.errors, [
    {
      field: "body",
      reason:
        "must contain at least one of statusId, priorityId, assignedAgentId, addCollaborators, removeCollaborators",
    },
  ]);
  const many = await patchMany({
    ids: Array.from({ length: 501 }, (_, i) => i + 1),
    statusId: mine.statusId,
  });
  assert.deepEqual(many.body.errors, [{ field: "ids", reason: "must have at most 500 entries" }]);
});

test("a change of many leads adds no fifty-first collaborator to any of them", async () => {
  const [full, free] = [await makeLead(), await makeLead()];
  const users = [];
  for (let i = 0; i < 51; i++) users.push(await makeUser(api.app, account));
  for (const from of [0, 20, 40]) {
    const addCollaborators = users.slice(from, Math.min(from + 20, 50));
    assert.equal((await patchMany({ ids: [full.id], addCollaborators })).status, 200);
  }
  const { status, body } = await patchMany({
    ids: [free.id, full.id],
    addCollaborators: [users[50]],
  });
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [
    { field: "ids.1", reason: "would have more than 50 collaborators" },
  ]);
  assert.deepEqual((await get(`/leads/${free.id}`)).body.collaborators, []);
});

test("five hundred leads change in one request, and a repetition under its key changes nothing again", async () => {
  const { rows } = await sql<{ id: number }>`
    insert into leads (account_id, workspace_id, contact_id, name, phone, phone_e164, status_id, priority_id,
      custom_fields, created_by, created_at, updated_at)
    select l.account_id, l.workspace_id, l.contact_id, l.name, l.phone, l.phone_e164, l.status_id, l.priority_id,
      l.custom_fields, l.created_by, l.created_at, l.updated_at
    from leads l cross join generate_series(1, 500)
    where l.account_id = ${account.account_id} and l.id = ${(await makeLead()).id}
    returning id`.execute(api.app.db.query);
  const json = { ids: rows.map(({ id }) => id), statusId: await option("status", "won") };
  const send = () =>
    api.send("PATCH", `${base()}/leads`, {
      token: account.token,
      json,
      headers: { "idempotency-key": "five-hundred" },
    });
  assert.deepEqual((await send()).body, { updated: 500, unchanged: 0 });
  assert.deepEqual((await send()).body, { updated: 500, unchanged: 0 });
  const { body } = await get(`/leads/${json.ids[499]}/timeline`);
  assert.equal(body.data.length, 1);
});
