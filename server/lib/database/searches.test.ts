import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";

let api: TestApi;
let flooding: TestAccount;
let other: TestAccount;
before(async () => {
  api = await startApi();
  flooding = await makeAccount(api.app);
  other = await makeAccount(api.app);
  await createLead();
  await createLead(flooding);
});
after(() => api.close());

const inWorkspace = (of: TestAccount, path: string) =>
  `/api/v1/crm/workspaces/${of.workspace_id}/${path}`;

const createLead = (of = other) =>
  api.send("POST", inWorkspace(of, "leads/create"), {
    token: of.token,
    json: { phone: "9876543210", name: "Asha" },
  });

/** Floods `url` while the table it reads is locked, and creates another account's lead meanwhile. */
async function floodLocked(table: string, url: string): Promise<void> {
  const locker = new pg.Client({ connectionString: api.database_url });
  await locker.connect();
  const hanging = async () => {
    const { rows } = await locker.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_locks
      where not granted and relation = '${table}'::regclass
        and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows[0]!.waiting;
  };
  try {
    await locker.query(`begin; lock table ${table} in access exclusive mode`);
    const slow = Array.from({ length: 30 }, () => api.send("GET", url, flooding));
    await eventually(async () => (await hanging()) >= 2);
    assert.equal((await createLead()).status, 201);
    await locker.query("commit");
    for (const answer of await Promise.all(slow)) assert.equal(answer.status, 200);
  } finally {
    await locker.end();
  }
}

test("any number of slow lead searches does not block other accounts' leads", () =>
  floodLocked("lead_collaborators", inWorkspace(flooding, "leads?q=asha")));

test("any number of slow exports does not block other accounts' leads", () =>
  floodLocked("lead_collaborators", inWorkspace(flooding, "leads/export")));

test("any number of slow reads of the audit trail does not block other accounts' leads", () =>
  floodLocked("audit_entries", "/api/v1/audit?action=none"));
