// The deletion of sources, priorities and custom fields, which no index of leads has.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { makeCustomField, makeOption } from "../../../test/support/crm-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";

let api: TestApi;

before(async () => {
  api = await startApi();
});
after(() => api.close());

const base = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}`;
const remove = (of: TestAccount, path: string) => api.send("DELETE", base(of) + path, of);
const createLead = (of: TestAccount, more: object = {}) =>
  api.send("POST", `${base(of)}/leads/create`, {
    token: of.token,
    json: { phone: "9876543210", ...more },
  });

type Entry = { readonly path: string; readonly lead: object; readonly set: string };

/** Creates a source, a priority and a custom field: each with the fields of a lead that uses it, also as SQL. */
async function makeEntries(of: TestAccount): Promise<Entry[]> {
  const source = await makeOption(api.app, of, { picklist: "source" });
  const priority = await makeOption(api.app, of, { picklist: "priority" });
  const key = unique("field").replace("-", "_");
  const field = await makeCustomField(api.app, of, { key, type: "text" });
  return [
    {
      path: `/picklists/source/options/${source}`,
      lead: { sourceId: source },
      set: `source_id = ${source}`,
    },
    {
      path: `/picklists/priority/options/${priority}`,
      lead: { priorityId: priority },
      set: `priority_id = ${priority}`,
    },
    {
      path: `/custom-fields/${field}`,
      lead: { customFields: { [key]: "x" } },
      set: `custom_fields = '{"${key}": "x"}'`,
    },
  ];
}

/** Holds up reads of leads until `commit`, with `effect` before it. */
async function holdLeads() {
  const client = await api.app.db.pool.connect();
  await client.query("begin");
  await client.query("lock table leads");
  return {
    commit: async (effect?: string) => {
      if (effect) await client.query(effect);
      await client.query("commit");
      client.release();
    },
  };
}

async function waiting(mode: "AccessShareLock" | "AccessExclusiveLock"): Promise<boolean> {
  const { rows } = await api.app.db.pool.query(
    "select from pg_locks where relation = 'leads'::regclass and mode = $1 and not granted",
    [mode],
  );
  return rows.length > 0;
}

/** Fails if a writer of leads would wait for the workspace. */
async function assertUnlocked(of: TestAccount): Promise<void> {
  await api.app.db.pool.query(
    "select from workspaces where account_id = $1 and id = $2 for key share nowait",
    [of.account_id, of.workspace_id],
  );
}

/** Starts the deletion; its second search of the leads is held up by what is returned. */
async function removeInSteps(of: TestAccount, path: string) {
  const first = await holdLeads();
  const deletion = remove(of, path);
  await eventually(() => waiting("AccessShareLock"));
  await assertUnlocked(of);
  const second = holdLeads();
  await eventually(() => waiting("AccessExclusiveLock"));
  await first.commit();
  const held = await second;
  await eventually(() => waiting("AccessShareLock"));
  await assertUnlocked(of);
  return { deletion, held };
}

test("no writer of leads waits while a deletion searches the leads", async () => {
  const of = await makeAccount(api.app);
  for (const { path } of await makeEntries(of)) {
    const { deletion, held } = await removeInSteps(of, path);
    await held.commit();
    assert.equal((await deletion).status, 204, path);
  }
});

test("an option or custom field that a lead gets during its deletion stays as it was", async () => {
  const of = await makeAccount(api.app);
  const { body: lead } = await createLead(of);
  for (const { path, lead: uses, set } of await makeEntries(of)) {
    const { deletion, held } = await removeInSteps(of, path);
    await held.commit(
      `update leads set ${set} where account_id = ${of.account_id} and id = ${lead.id}`,
    );
    const { status, body } = await deletion;
    assert.equal(status, 409, path);
    assert.match(body.detail, /archive it with archived: true/);
    assert.equal((await createLead(of, uses)).status, 201, path);
  }
});

test("an option or custom field that is archived during its deletion stays archived, also if the deletion fails", async () => {
  const of = await makeAccount(api.app);
  const { body: lead } = await createLead(of);
  for (const { path, lead: uses, set } of await makeEntries(of)) {
    const { deletion, held } = await removeInSteps(of, path);
    const json = { archived: true };
    const archived = await api.send("PATCH", base(of) + path, { token: of.token, json });
    assert.deepEqual([archived.status, archived.body.archived], [200, true], path);
    await held.commit(
      `update leads set ${set} where account_id = ${of.account_id} and id = ${lead.id}`,
    );
    assert.equal((await deletion).status, 409, path);
    assert.equal((await createLead(of, uses)).status, 422, path);
  }
});

test("no lead gets an option or custom field while its deletion searches the leads", async () => {
  const of = await makeAccount(api.app);
  for (const { path, lead } of await makeEntries(of)) {
    const { deletion, held } = await removeInSteps(of, path);
    const created = createLead(of, lead);
    await held.commit();
    assert.equal((await created).status, 422, path);
    assert.equal((await deletion).status, 204, path);
  }
});

test("an option that only the oldest of many leads has is in use, and not archived by the refusal", async () => {
  const of = await makeAccount(api.app);
  const [{ path, lead }, unused] = (await makeEntries(of)) as [Entry, Entry];
  const { body: oldest } = await createLead(of, lead);
  await api.app.db.pool.query(
    `insert into leads (account_id, workspace_id, contact_id, name, phone, phone_e164, status_id,
       priority_id, custom_fields, created_by, created_at, updated_at)
     select account_id, workspace_id, contact_id, name, phone, phone_e164, status_id, priority_id,
       custom_fields, created_by, created_at, updated_at
     from leads, generate_series(1, 10001) where account_id = $1 and id = $2`,
    [of.account_id, oldest.id],
  );
  assert.equal((await remove(of, path)).status, 409);
  assert.equal((await createLead(of, lead)).status, 201);
  assert.equal((await remove(of, unused.path)).status, 204);
});
