import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { startService } from "../../../test/support/service-process.ts";
import { openDatabase } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { createLeads, type LeadRow } from "./lead-intake.ts";

let api: TestApi;
let account: TestAccount;
let other: TestAccount;
let admin: pg.Client;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  other = await makeAccount(api.app);
  admin = new pg.Client({ connectionString: api.database_url });
  admin.on("error", () => {});
  await admin.connect();
});
after(async () => {
  await admin.end();
  await api.close();
});

let phones = 6_000_000_000;
const newPhone = () => String(++phones);

async function makeRow(
  of: TestAccount,
  more: Partial<LeadRow> = {},
  { app } = api,
): Promise<LeadRow> {
  const schema = await app.workspaceSchemas.find(of.account_id, of.workspace_id);
  const phone = more.phone ?? newPhone();
  return {
    workspace_id: of.workspace_id,
    schema_version: schema!.version,
    name: "Lee Lead",
    email: null,
    phone,
    phone_e164: `+91${phone}`,
    assigned_agent_id: null,
    contact_id: null,
    status_id: schema!.default_status.id,
    source_id: null,
    priority_id: schema!.default_priority.id,
    custom_fields: {},
    created_by: of.owner_id,
    ...more,
  };
}

const makeRows = (of: TestAccount, count: number) =>
  Promise.all(Array.from({ length: count }, () => makeRow(of)));

const create = (row: LeadRow, of = account) => api.app.leadIntake.create(of.account_id, row);

/** How many batches went to the database so far, and how many leads in them. */
async function batches(): Promise<{ count: number; leads: number }> {
  const { values } = await api.app.metrics.leadBatchRows.get();
  const valueOf = (suffix: string) =>
    values.find(({ metricName }) => metricName?.endsWith(suffix))?.value ?? 0;
  return { count: valueOf("_count"), leads: valueOf("_sum") };
}

async function countOf(sql: string, values: unknown[]): Promise<number> {
  const { rows } = await admin.query<{ count: number }>(sql, values);
  return rows[0]!.count;
}

const leadsWithPhones = (list: readonly string[]) =>
  countOf("select count(*)::int from leads where phone = any ($1)", [list]);
const contactsWithPhones = (list: readonly string[]) =>
  countOf("select count(*)::int from contacts where phone = any ($1)", [list]);

/** Holds what every batch of the account needs, so that its batches wait, while `work` runs. */
async function whileHeld<T>(
  of: TestAccount,
  work: (release: () => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const holder = new pg.Client({ connectionString: api.database_url });
  await holder.connect();
  try {
    await holder.query("begin");
    await holder.query("select from workspaces where account_id = $1 for update", [of.account_id]);
    return await work(() => holder.query("rollback"));
  } finally {
    await holder.end();
  }
}

const hanging = `datname = current_database() and wait_event_type = 'Lock'
  and query like '%create_leads%'`;

/** Waits until so many calls of create_leads hang on a lock. */
async function hangingCalls(expected: number): Promise<void> {
  const count = `select count(*)::int from pg_stat_activity where ${hanging}`;
  await eventually(async () => (await countOf(count, [])) === expected);
}

test("counts each lead that a request creates once, with and without an Idempotency-Key", async () => {
  const created = async () => (await api.app.metrics.leadsCreated.get()).values[0]!.value;
  const before_count = await created();
  const post = (headers: Record<string, string> = {}) =>
    api.send("POST", `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`, {
      token: account.token,
      headers,
      json: { phone: "9876500001" },
    });
  assert.equal((await post()).status, 201);
  assert.equal(await created(), before_count + 1);
  for (const _ of ["first", "repeated"])
    assert.equal((await post({ "idempotency-key": "counted" })).status, 201);
  assert.equal(await created(), before_count + 2);
});

test("a lead on an idle server does not wait for a timer", async (t) => {
  await create(await makeRow(account));
  const row = await makeRow(account);
  const [realTimeout, realClear] = [setTimeout, clearTimeout];
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const tooLate = Promise.withResolvers<never>();
  const deadline = realTimeout(() => tooLate.reject(new Error("it waits for a timer")), 60_000);
  const { verdict } = await Promise.race([create(row), tooLate.promise]);
  realClear(deadline);
  assert.equal(verdict, "created");
});

test("leads of one event-loop iteration form a batch, and so do those that arrive while a batch is in flight", async () => {
  const began = await batches();
  await Promise.all((await makeRows(account, 40)).map((row) => create(row)));
  const together = await batches();
  assert.deepEqual(together, { count: began.count + 1, leads: began.leads + 40 });

  await whileHeld(account, async (release) => {
    const first = create(await makeRow(account));
    await hangingCalls(1);
    const rest = (await makeRows(account, 50)).map((row) => create(row));
    await release();
    await Promise.all([first, ...rest]);
  });
  assert.deepEqual(await batches(), { count: together.count + 2, leads: together.leads + 51 });
});

test("a row that only PostgreSQL refuses fails alone: its neighbours in the batch are created once each", async () => {
  const good = await makeRows(account, 20);
  const bad = [
    await makeRow(account, { name: "a NUL \0" }),
    await makeRow(account, { status_id: null as unknown as number }),
    await makeRow(account, { created_by: "someone" as unknown as number }),
  ];
  const rows = [...good.slice(0, 7), bad[0]!, ...good.slice(7, 12), bad[1]!, ...good.slice(12)];
  const outcomes = await Promise.allSettled([...rows, bad[2]!].map((row) => create(row)));
  const failed = outcomes.flatMap((outcome, i) => (outcome.status === "rejected" ? [i] : []));
  assert.deepEqual(failed, [7, 13, 22]);
  for (const i of failed) {
    const { reason } = outcomes[i] as PromiseRejectedResult;
    assert.match(String((reason as { code?: unknown }).code), /^2[23]/);
  }
  assert.equal(await leadsWithPhones(good.map(({ phone }) => phone)), 20);
  assert.equal(await leadsWithPhones(bad.map(({ phone }) => phone)), 0);
  assert.equal(await contactsWithPhones(bad.map(({ phone }) => phone)), 0);
});

test("each lead of a batch gets its own verdict, and only created leads store anything", async () => {
  const { version } = (await api.app.workspaceSchemas.find(
    account.account_id,
    account.workspace_id,
  ))!;
  const unknown = 999_999_999;
  const linked = await create(await makeRow(account));
  const foreign = await create(await makeRow(other), other);
  const rows = {
    created: await makeRow(account),
    workspaceUnknown: await makeRow(account, { workspace_id: unknown }),
    workspaceForeign: await makeRow(account, { workspace_id: other.workspace_id }),
    schemaOutdated: await makeRow(account, { schema_version: version - 1 }),
    agentUnknown: await makeRow(account, { assigned_agent_id: unknown }),
    agentForeign: await makeRow(account, { assigned_agent_id: other.owner_id }),
    contactUnknown: await makeRow(account, { contact_id: unknown }),
    contactForeign: await makeRow(account, { contact_id: foreign.contact_id }),
    contactLinked: await makeRow(account, { contact_id: linked.contact_id }),
    agentAssigned: await makeRow(account, { assigned_agent_id: account.owner_id }),
  };
  const began = await batches();
  const verdicts = await Promise.all(Object.values(rows).map((row) => create(row)));
  assert.equal((await batches()).count, began.count + 1);
  assert.deepEqual(
    Object.fromEntries(Object.keys(rows).map((name, i) => [name, verdicts[i]!.verdict])),
    {
      created: "created",
      workspaceUnknown: "not-found",
      workspaceForeign: "not-found",
      schemaOutdated: "retry",
      agentUnknown: "INVALID_AGENT",
      agentForeign: "INVALID_AGENT",
      contactUnknown: "INVALID_CONTACT",
      contactForeign: "INVALID_CONTACT",
      contactLinked: "created",
      agentAssigned: "created",
    },
  );
  const created = [rows.created, rows.contactLinked, rows.agentAssigned];
  const list = Object.values(rows).map(({ phone }) => phone);
  assert.equal(await leadsWithPhones(list), created.length);
  // The linked lead's own phone makes no contact.
  assert.equal(await contactsWithPhones(list), 2);
  assert.equal(verdicts[8]!.contact_id, linked.contact_id);
  const ids = verdicts.flatMap(({ lead_id }) => (lead_id === null ? [] : [lead_id]));
  assert.equal(ids.length, created.length);
  const timeline = "select count(*)::int from lead_timeline where lead_id = any ($1)";
  const events = "select count(*)::int from events where (data ->> 'id')::bigint = any ($1)";
  assert.equal(await countOf(timeline, [ids]), created.length);
  assert.equal(await countOf(events, [ids]), created.length);
});

test("leads of one new phone in one batch share one contact, named by the first", async () => {
  const phone = newPhone();
  const rows = await Promise.all(
    ["Ann", "Ben", "Cid"].map((name) => makeRow(account, { name, phone })),
  );
  const verdicts = await Promise.all(rows.map((row) => create(row)));
  assert.equal(new Set(verdicts.map(({ contact_id }) => contact_id)).size, 1);
  assert.deepEqual(
    verdicts.map(({ contact_name }) => contact_name),
    ["Ann", "Ann", "Ann"],
  );
});

test("an account that floods does not make another account wait for its whole queue", async () => {
  const flood = await makeRows(account, 2_000);
  const single = await makeRow(other);
  // Both lanes have their connections.
  await Promise.all([create(await makeRow(account)), create(await makeRow(other), other)]);
  let flooded = 0;
  const all = flood.map((row) => create(row).then(() => flooded++));
  await create(single, other);
  assert.ok(flooded < flood.length, `${flooded} of the flood came first`);
  await Promise.all(all);
  assert.equal(flooded, flood.length);
});

test("an account whose batch waits for a lock delays no other account", async () => {
  await whileHeld(account, async (release) => {
    const held = create(await makeRow(account));
    await hangingCalls(1);
    assert.equal((await create(await makeRow(other), other)).verdict, "created");
    await release();
    assert.equal((await held).verdict, "created");
  });
});

test("beyond 4,000 waiting leads of an account, or 5,000 of all, a create is refused at once as unavailable, and the waiting ones are made", async () => {
  const rows = await makeRows(account, 4_001);
  const others = await makeRows(other, 1_001);
  const outcomes = await Promise.allSettled([
    ...rows.map((row) => create(row)),
    ...others.map((row) => create(row, other)),
  ]);
  const refused = outcomes.flatMap((outcome, i) => (outcome.status === "rejected" ? [i] : []));
  assert.deepEqual(refused, [4_000, 5_001]);
  for (const i of refused) {
    const { reason } = outcomes[i] as PromiseRejectedResult;
    assert.ok(reason instanceof Refusal);
    assert.equal(reason.type, "unavailable");
  }
  const sent = [...rows, ...others].map(({ phone }) => phone);
  assert.equal(await leadsWithPhones(sent), 5_000);
});

test("a connection that is lost under a batch answers 503 to each of its leads, and the next lead is created", async () => {
  const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`;
  const post = () => api.send("POST", path, { token: account.token, json: { phone: newPhone() } });
  await post();
  const answers = await whileHeld(account, async () => {
    let isOver = false;
    const all = Promise.all(Array.from({ length: 30 }, post)).finally(() => (isOver = true));
    // The queued leads follow when the first batches have failed, and wait for the lock too.
    await eventually(async () => {
      await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${hanging}`);
      return isOver;
    });
    return all;
  });
  for (const { status, body } of answers) {
    assert.equal(status, 503);
    assert.equal(body.type, "unavailable");
  }
  assert.equal((await post()).status, 201);
});

test("two batches that share phones in opposite orders never deadlock", async () => {
  const pools = [0, 1].map(() => openDatabase(api.database_url, api.app.log, { connections: 1 }));
  const now = api.clock.now();
  for (let round = 0; round < 20; round++) {
    const rows = await makeRows(account, 100);
    const [forward, backward] = await Promise.all([
      createLeads(pools[0]!.pool, account.account_id, rows, now),
      createLeads(pools[1]!.pool, account.account_id, rows.toReversed(), now),
    ]);
    assert.deepEqual(
      forward.map(({ contact_id }) => contact_id),
      backward.map(({ contact_id }) => contact_id).toReversed(),
    );
  }
  await Promise.all(pools.map((db) => db.close()));
  assert.equal(await deadlocks(), 0);
});

const deadlocks = () =>
  countOf(
    "select deadlocks::int as count from pg_stat_database where datname = current_database()",
    [],
  );

test("one contact per phone under concurrent creates from two processes, also in opposite orders, without a deadlock", async () => {
  const env = { DATABASE_URL: api.database_url, TRUNKLINE_SEED: "none" };
  const services = await Promise.all([startService(env), startService(env)]);
  const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`;
  const post = (service: number, phone: string) =>
    services[service]!.send("POST", path, { token: account.token, json: { phone } });
  const phone = newPhone();
  const same = await Promise.all(Array.from({ length: 100 }, (_, i) => post(i % 2, phone)));
  assert.deepEqual(new Set(same.map(({ status }) => status)), new Set([201]));
  assert.equal(new Set(same.map(({ body }) => body.contactId)).size, 1);
  assert.equal(await contactsWithPhones([phone]), 1);
  assert.equal(await leadsWithPhones([phone]), 100);

  for (let round = 0; round < 5; round++) {
    const shared = Array.from({ length: 60 }, newPhone);
    const answers = await Promise.all([
      ...shared.map((one) => post(0, one)),
      ...shared.toReversed().map((one) => post(1, one)),
    ]);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(await contactsWithPhones(shared), 60);
    assert.equal(await leadsWithPhones(shared), 120);
  }
  assert.equal(await deadlocks(), 0);
  await Promise.all(services.map((service) => service.dispose()));
});

test("on a database that was never analysed a lead reads a few index entries, however many contacts there are", async () => {
  const fresh = await startApi();
  const owner = await makeAccount(fresh.app);
  const rows = await Promise.all(Array.from({ length: 3_000 }, () => makeRow(owner, {}, fresh)));
  // One connection: the plan that was made while the tables were empty serves them all.
  const client = new pg.Client({ connectionString: fresh.database_url });
  await client.connect();
  const [first] = await createLeads(client, owner.account_id, [rows.pop()!], new Date());
  const contact_id = first!.contact_id;
  for (let i = 0; i < rows.length; i += 100) {
    const batch = rows
      .slice(i, i + 100)
      .map((row, at) => (at % 2 === 0 ? row : { ...row, contact_id }));
    await createLeads(client, owner.account_id, batch, new Date());
  }
  await client.query("select pg_stat_force_next_flush()");
  const { rows: read } = await client.query<{ entries: number }>(
    "select sum(idx_tup_read)::int as entries from pg_stat_user_indexes where relname = 'contacts'",
  );
  await client.end();
  await fresh.close();
  assert.ok(
    read[0]!.entries < 10 * rows.length,
    `${read[0]!.entries} index entries for ${rows.length} leads`,
  );
});

test("the ids of a batch follow the order of its leads", async () => {
  const rows = await makeRows(account, 40);
  const verdicts = await createLeads(api.app.db.pool, account.account_id, rows, new Date());
  const ids = verdicts.map(({ lead_id }) => lead_id!);
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
});
