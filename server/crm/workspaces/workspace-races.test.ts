// The state of two API processes on one database: each must notice the other's changes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";

let here: TestApi;
let there: TestApi;
let account: TestAccount;
let base: string;

before(async () => {
  here = await startApi();
  there = await startApi({ databaseUrl: here.database_url });
  account = await makeAccount(here.app);
  base = `/api/v1/crm/workspaces/${account.workspace_id}`;
});
after(async () => {
  await there.close();
  await here.close();
});

const send = (api: TestApi, method: string, path: string, json?: unknown) =>
  api.send(method, base + path, {
    token: account.token,
    ...(json === undefined ? {} : { json }),
  });
const createLead = (api: TestApi, more: object = {}) =>
  send(api, "POST", "/leads/create", { phone: "9876543210", ...more });
const addOption = async (api: TestApi, picklist: string): Promise<number> =>
  (await send(api, "POST", `/picklists/${picklist}/options`, { label: unique("option") })).body.id;
const patchOption = (api: TestApi, picklist: string, id: number, json: unknown) =>
  send(api, "PATCH", `/picklists/${picklist}/options/${id}`, json);
const addField = async (api: TestApi): Promise<{ id: number; key: string }> => {
  const key = unique("field").replace("-", "_");
  return (await send(api, "POST", "/custom-fields", { key, label: key, type: "text" })).body;
};

/**
 * A workspace that the other process has a warm copy of, and changes it is not notified of:
 * made beside both, in the database alone.
 */
async function startWithoutNotifications() {
  const { account_id, workspace_id, token } = await makeAccount(here.app);
  const now = new Date();
  const value = unique("unheard").replace("-", "_");
  const own = { account_id, workspace_id, label: value, position: 0, created_at: now };
  const { query } = here.app.db;
  const workspace = {
    value,
    change: () =>
      query
        .updateTable("workspaces")
        .set((eb) => ({ schema_version: eb("schema_version", "+", 1) }))
        .where("account_id", "=", account_id)
        .where("id", "=", workspace_id)
        .execute(),
    addOption: async () => {
      const option = { ...own, picklist: "source", value, updated_at: now };
      const added = query.insertInto("picklist_options").values(option).returning("id");
      return (await added.executeTakeFirstOrThrow()).id;
    },
    addField: (required: boolean) =>
      query
        .insertInto("custom_fields")
        .values({ ...own, key: value, type: "text", required, updated_at: now })
        .execute(),
    createLead: (more: object = {}) =>
      there.send("POST", `/api/v1/crm/workspaces/${workspace_id}/leads/create`, {
        token,
        json: { phone: "9876543210", ...more },
      }),
  };
  const schemaThere = () => there.app.workspaceSchemas.find(account_id, workspace_id);
  await eventually(async () => {
    const read = await schemaThere();
    return read === (await schemaThere());
  });
  return workspace;
}

/** Counts leads whose status, source or priority is not an option of their workspace and picklist. */
async function strayLeads(): Promise<number> {
  const { rows } = await here.app.db.pool.query<{ strays: number }>(
    `select count(*)::int as strays from leads l
     left join picklist_options s on s.account_id = l.account_id
       and s.workspace_id = l.workspace_id and s.id = l.status_id and s.picklist = 'status'
     left join picklist_options o on o.account_id = l.account_id
       and o.workspace_id = l.workspace_id and o.id = l.source_id and o.picklist = 'source'
     left join picklist_options p on p.account_id = l.account_id
       and p.workspace_id = l.workspace_id and p.id = l.priority_id and p.picklist = 'priority'
     where s.id is null or p.id is null or (o.id is null and l.source_id is not null)`,
  );
  return rows[0]!.strays;
}

test("an option archived in one process is refused immediately by another that has cached it", async () => {
  for (let round = 0; round < 20; round++) {
    const statusId = await addOption(here, "status");
    for (const api of [here, there]) {
      assert.equal((await createLead(api, { statusId })).status, 201);
    }
    assert.equal((await patchOption(here, "status", statusId, { archived: true })).status, 200);
    const answers = await Promise.all([here, there].map((api) => createLead(api, { statusId })));
    for (const answer of answers) assert.deepEqual(failingFields(answer), ["statusId"]);
  }
});

test("an option archived without a notification is refused by the other process too", async () => {
  const workspace = await startWithoutNotifications();
  const sourceId = await workspace.addOption();
  await workspace.change();
  assert.equal((await workspace.createLead({ sourceId })).status, 201);
  await here.app.db.query
    .updateTable("picklist_options")
    .set({ archived_at: new Date() })
    .where("id", "=", sourceId)
    .execute();
  await workspace.change();
  assert.deepEqual(failingFields(await workspace.createLead({ sourceId })), ["sourceId"]);
});

test("an option added without a notification is accepted immediately by the other process", async () => {
  const workspace = await startWithoutNotifications();
  const sourceId = await workspace.addOption();
  await workspace.change();
  const lead = await workspace.createLead({ sourceId });
  assert.deepEqual([lead.status, lead.body.source?.value], [201, workspace.value]);
});

test("a custom field added without a notification is accepted immediately by the other process", async () => {
  const workspace = await startWithoutNotifications();
  await workspace.addField(false);
  await workspace.change();
  const lead = await workspace.createLead({ customFields: { [workspace.value]: "x" } });
  assert.deepEqual([lead.status, lead.body.customFields], [201, { [workspace.value]: "x" }]);
});

test("a required field added without a notification is required immediately by the other process", async () => {
  const workspace = await startWithoutNotifications();
  await workspace.addField(true);
  await workspace.change();
  assert.deepEqual(failingFields(await workspace.createLead()), [
    `customFields.${workspace.value}`,
  ]);
});

test("deactivating and reactivating a workspace applies immediately in the other process", async () => {
  for (let round = 0; round < 5; round++) {
    assert.equal((await createLead(there)).status, 201);
    assert.equal((await send(here, "PATCH", "", { active: false })).status, 200);
    assert.equal((await createLead(there)).status, 404);
    assert.equal((await send(here, "PATCH", "", { active: true })).status, 200);
  }
});

const starts = [
  "before",
  "with the first",
  "with a look-up",
  "after an answer",
  "once it is archived",
] as const;
const both = () => [here, there];

/** Reports whether an option or a custom field is archived or deleted. */
async function isArchived(path: string): Promise<boolean> {
  const table = path.startsWith("/custom-fields") ? "custom_fields" : "picklist_options";
  const { rows } = await here.app.db.pool.query(
    `select from ${table} where account_id = $1 and id = $2 and archived_at is null`,
    [account.account_id, path.split("/").at(-1)],
  );
  return rows.length === 0;
}

/**
 * 50 leads created by both processes while `path` is deleted. Fails unless the deletion is refused
 * with leads made, or done with every lead refused; returns what it answered.
 */
async function deleteAmongCreates(
  path: string,
  lead: object,
  start: (typeof starts)[number],
): Promise<{ deleted: 204 | 409; made: number }> {
  const create = (count: number) =>
    Array.from({ length: count }, (_, i) => createLead(both()[i % 2]!, lead));
  const early = create(start === "before" || start === "once it is archived" ? 0 : 10);
  if (start === "with a look-up") await send(there, "GET", "/picklists");
  if (start === "after an answer") await Promise.race(early);
  const deletion = send(there, "DELETE", path);
  if (start === "once it is archived") await eventually(() => isArchived(path));
  const created = await Promise.all([...early, ...create(50 - early.length)]);
  const { status: deleted } = await deletion;
  assert.ok(deleted === 204 || deleted === 409, `the deletion answered ${deleted}`);
  const made = created.filter(({ status }) => status === 201).length;
  const refused = created.filter(({ status }) => status === 422).length;
  assert.equal(made + refused, 50);
  assert.equal(made > 0, deleted === 409, `${made} leads, and ${deleted}`);
  return { deleted, made };
}

test("an option deleted under 50 concurrent creates is either kept or in no lead", async () => {
  const outcomes = { 204: 0, 409: 0 };
  const picklists = { status: "statusId", source: "sourceId", priority: "priorityId" } as const;
  for (const picklist of ["status", "source", "priority"] as const) {
    for (let round = 0; round < 12; round++) {
      const id = await addOption(here, picklist);
      const path = `/picklists/${picklist}/options/${id}`;
      const lead = { [picklists[picklist]]: id };
      const { deleted } = await deleteAmongCreates(path, lead, starts[round % starts.length]!);
      outcomes[deleted]++;
      assert.equal(await strayLeads(), 0);
    }
  }
  assert.ok(outcomes[204] > 0 && outcomes[409] > 0, JSON.stringify(outcomes));
});

test("a custom field deleted under 50 concurrent creates is either kept or in no lead", async () => {
  const outcomes = { 204: 0, 409: 0 };
  for (let round = 0; round < 12; round++) {
    const { id, key } = await addField(here);
    const lead = { customFields: { [key]: "x" } };
    const path = `/custom-fields/${id}`;
    const { deleted, made } = await deleteAmongCreates(path, lead, starts[round % starts.length]!);
    outcomes[deleted]++;
    const { rows } = await here.app.db.pool.query<{ held: number }>(
      "select count(*)::int as held from leads where account_id = $1 and custom_fields ? $2",
      [account.account_id, key],
    );
    assert.equal(rows[0]!.held, made);
  }
  assert.ok(outcomes[204] > 0 && outcomes[409] > 0, JSON.stringify(outcomes));
});

const makeDefault = (picklist: string, id: number) =>
  both().map((api) => patchOption(api, picklist, id, { isDefault: true }));

test("concurrent changes of the default by two processes result in exactly one, and every lead gets one", async () => {
  for (const picklist of ["status", "priority"] as const) {
    const ids = [await addOption(here, picklist), await addOption(there, picklist)];
    for (let round = 0; round < 15; round++) {
      const moves = ids.flatMap((id) => makeDefault(picklist, id));
      const creates = [...both(), ...both()].map((api) => createLead(api));
      for (const { status } of await Promise.all(moves)) assert.equal(status, 200);
      for (const { status } of await Promise.all(creates)) assert.equal(status, 201);
      const defaults = await here.app.db.query
        .selectFrom("picklist_options")
        .select("id")
        .where("account_id", "=", account.account_id)
        .where("workspace_id", "=", account.workspace_id)
        .where("picklist", "=", picklist)
        .where("is_default", "=", true)
        .execute();
      assert.equal(defaults.length, 1);
      assert.ok(ids.includes(defaults[0]!.id));
    }
  }
  assert.equal(await strayLeads(), 0);
});

test("a default archived or deleted while it becomes the default is refused or was first", async () => {
  for (let round = 0; round < 10; round++) {
    const id = await addOption(here, "priority");
    const [moved, archived] = await Promise.all([
      patchOption(here, "priority", id, { isDefault: true }),
      patchOption(there, "priority", id, { archived: true }),
    ]);
    assert.ok(
      (moved.status === 200 && archived.status === 409) ||
        (moved.status === 409 && archived.status === 200),
      `${moved.status}, ${archived.status}`,
    );
    const next = await addOption(here, "priority");
    const [taken, deleted] = await Promise.all([
      patchOption(here, "priority", next, { isDefault: true }),
      send(there, "DELETE", `/picklists/priority/options/${next}`),
    ]);
    assert.ok(
      (taken.status === 200 && deleted.status === 409) ||
        (taken.status === 404 && deleted.status === 204),
      `${taken.status}, ${deleted.status}`,
    );
    assert.equal((await createLead(there)).status, 201);
  }
});
