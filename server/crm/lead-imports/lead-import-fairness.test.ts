import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startService } from "../../../test/support/service-process.ts";
import { freezeAccount, unfreezeAccount } from "../../accounts/accounts/freeze-account.ts";
import { runLeadImports } from "./run-lead-imports.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const path = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}/leads/import`;
const runIteration = () => runLeadImports(api.app, new AbortController().signal);

async function upload(of: TestAccount, file = "phone\n9876543210\n"): Promise<number> {
  const raw = new FormData();
  raw.append("columnMap", '{"phone":"phone"}');
  raw.append("file", new Blob([file]), "leads.csv");
  const { status, body } = await api.send("POST", path(of), { token: of.token, raw });
  assert.equal(status, 202);
  return body.id;
}

const stateOf = async (of: TestAccount, id: number) =>
  (await api.send("GET", `${path(of)}s/${id}`, of)).body.state;

test("an import whose batch fails delays no other and resumes once the cause is fixed", async () => {
  const failing = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const [bad, good] = [await upload(failing), await upload(other)];
  const setMap = (map: string) =>
    sql`update lead_imports set column_map = ${map}::json where id = ${bad}`.execute(
      api.app.db.query,
    );
  await setMap("null");
  assert.equal(await runIteration(), 1);
  assert.equal(await stateOf(other, good), "completed");
  assert.equal(await stateOf(failing, bad), "processing");
  await setMap('{"phone":"phone"}');
  await runIteration();
  assert.equal(await stateOf(failing, bad), "completed");
});

test("an import of a frozen account waits, and continues after the freeze", async () => {
  const frozen = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const [waiting, good] = [await upload(frozen), await upload(other)];
  const actor = {
    account_id: frozen.account_id,
    user_id: null,
    token_id: null,
    request_id: "req_test",
  };
  const change = (effect: typeof freezeAccount | typeof unfreezeAccount) =>
    api.app.db.query
      .transaction()
      .execute(async (tx) => void (await effect(tx, actor, api.clock.now())));
  await change(freezeAccount);
  assert.equal(await runIteration(), 1);
  assert.equal(await stateOf(other, good), "completed");
  assert.equal(await stateOf(frozen, waiting), "processing");
  const { rows } = await sql`select from leads where account_id = ${frozen.account_id}`.execute(
    api.app.db.query,
  );
  assert.equal(rows.length, 0);
  await change(unfreezeAccount);
  assert.equal(await runIteration(), 1);
  assert.equal(await stateOf(frozen, waiting), "completed");
});

test("one account's many open imports do not delay another account's import", async () => {
  const many = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  await sql`
    insert into lead_imports (account_id, workspace_id, created_by, file_name, column_map, header,
      state, total_rows, created_at)
    select ${many.account_id}, ${many.workspace_id}, ${many.owner_id}, 'a.csv',
      '{"phone":"phone"}', '{phone}', 'processing', 1000000, now()
    from generate_series(1, 1500)`.execute(api.app.db.query);
  const id = await upload(other);
  assert.equal(await runIteration(), 4);
  assert.equal(await stateOf(other, id), "completed");
});

test("an import into an inactive workspace drops its rows in ranges and is not continued meanwhile", async () => {
  const of = await makeAccount(api.app);
  const id = await upload(of);
  const { query } = api.app.db;
  await sql`
    insert into lead_import_rows (account_id, import_id, row_number, cells)
    select ${of.account_id}, ${id}, n, '{9876543210}' from generate_series(3, 45000) n`.execute(
    query,
  );
  await sql`update lead_imports set total_rows = 44999 where id = ${id}`.execute(query);
  const setActive = (active: boolean) =>
    sql`update workspaces set active = ${active} where account_id = ${of.account_id}`.execute(
      query,
    );
  const countOf = async (table: string) => {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from ${sql.table(table)} where account_id = ${of.account_id}`.execute(
      query,
    );
    return rows[0]!.n;
  };
  await setActive(false);
  await runIteration();
  assert.equal(await countOf("lead_import_rows"), 45_000 - 20_000);
  await setActive(true);
  const { body } = await api.send("GET", `${path(of)}s/${id}`, of);
  assert.deepEqual([body.state, body.failure], ["processing", null]);
  await runIteration();
  await runIteration();
  assert.equal(await countOf("lead_import_rows"), 0);
  assert.equal(await countOf("leads"), 0);
  const failed = (await api.send("GET", `${path(of)}s/${id}`, of)).body;
  assert.deepEqual([failed.state, failed.failure], ["failed", "The workspace is not active"]);
});

test("counts the leads of an import, without the rows that it rejects", async () => {
  const created = async () => (await api.app.metrics.leadsCreated.get()).values[0]!.value;
  const owner = await makeAccount(api.app);
  const before_count = await created();
  const id = await upload(owner, "phone\n9876543210\n9876543211\nnone\n");
  await runIteration();
  assert.equal(await stateOf(owner, id), "completed");
  assert.equal(await created(), before_count + 2);
});

test("the metrics of a service that runs both roles count the leads of its imports", async () => {
  const owner = await makeAccount(api.app);
  const service = await startService({ DATABASE_URL: api.database_url, TRUNKLINE_SEED: "none" });
  try {
    const id = await upload(owner);
    await eventually(async () => (await stateOf(owner, id)) === "completed");
    await eventually(async () => {
      const { text } = await service.send("GET", "/metrics");
      return Number(/^trunkline_leads_created_total (\d+)$/m.exec(text)?.[1]) >= 1;
    });
  } finally {
    await service.dispose();
  }
});
