import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { startWorker } from "../../worker.ts";

let api: TestApi;

before(async () => {
  api = await startApi();
});
after(() => api.close());

const imports = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}/leads/import`;

/** Uploads rows with distinct phones and, every tenth, a bad one; returns the import's id. */
async function uploadRows(of: TestAccount, rows: number): Promise<number> {
  const cells = Array.from({ length: rows }, (_, i) => (i % 10 === 9 ? "bad" : 6_000_000_000 + i));
  const raw = new FormData();
  raw.append("columnMap", JSON.stringify({ phone: "phone" }));
  raw.append("file", new Blob([["phone", ...cells].join("\n")]), "leads.csv");
  const { status, body } = await api.send("POST", imports(of), { token: of.token, raw });
  assert.equal(status, 202);
  return body.id;
}

/** An upload that takes 60% of the account's storage; no worker imports it. */
async function uploadLarge(of: TestAccount) {
  const raw = new FormData();
  raw.append("columnMap", JSON.stringify({ phone: "phone" }));
  raw.append("file", new Blob([`phone,note\n9876543210,${"x".repeat(600_000)}`]), "leads.csv");
  const { status, body } = await api.send("POST", imports(of), { token: of.token, raw });
  return [status, body.errors?.map(({ field }: { field: string }) => field)];
}

const makeSmallAccount = async () => {
  const of = await makeAccount(api.app);
  await api.app.db.pool.query("update accounts set storage_megabytes = 1 where account_id = $1", [
    of.account_id,
  ]);
  return of;
};

test("of three parallel uploads that fit into the storage quota only alone, one is accepted", async () => {
  const of = await makeSmallAccount();
  const answers = await Promise.all([uploadLarge(of), uploadLarge(of), uploadLarge(of)]);
  assert.deepEqual(
    answers.toSorted(([a], [b]) => a - b),
    [
      [202, undefined],
      [422, ["file"]],
      [422, ["file"]],
    ],
  );
});

test("an upload waits for one that another process is storing, and is refused if both exceed the storage quota", async () => {
  const of = await makeSmallAccount();
  const other = await api.app.db.pool.connect();
  try {
    // As the other process does at the end of its upload.
    await other.query("begin");
    await other.query("select from accounts where account_id = $1 for no key update", [
      of.account_id,
    ]);
    await other.query(
      `insert into lead_imports (account_id, workspace_id, created_by, file_name, column_map, header, state,
         total_rows, file_bytes, created_at)
       values ($1, $2, $3, 'leads.csv', '{"phone": "phone"}', '{phone}', 'processing', 0, 600000, now())`,
      [of.account_id, of.workspace_id, of.owner_id],
    );
    const answer = uploadLarge(of);
    await eventually(async () => {
      const { rows } = await api.app.db.pool.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update%'`,
      );
      return rows.length === 1;
    });
    await other.query("commit");
    assert.deepEqual(await answer, [422, ["file"]]);
  } finally {
    other.release(true);
  }
});

const progress = async (of: TestAccount, id: number) =>
  (await api.send("GET", `${imports(of)}s/${id}`, of)).body;

/** Asserts that each row is exactly one lead or one reject. */
async function assertExact(of: TestAccount, id: number, rows: number): Promise<void> {
  const done = await progress(of, id);
  const bad = Math.floor(rows / 10);
  assert.deepEqual(
    [done.state, done.totalRows, done.createdCount, done.rejectedCount],
    ["completed", rows, rows - bad, bad],
  );
  const one = async (sql: string) => (await api.app.db.pool.query(sql, [of.account_id])).rows[0];
  assert.deepEqual(
    await one(
      "select count(*)::int as leads, count(distinct phone)::int as phones from leads where account_id = $1",
    ),
    { leads: rows - bad, phones: rows - bad },
  );
  assert.deepEqual(
    await one(
      "select count(*)::int as n from events where account_id = $1 and type = 'lead.created'",
    ),
    { n: rows - bad },
  );
  assert.deepEqual(
    await one("select count(*)::int as n from lead_import_rejects where account_id = $1"),
    { n: bad },
  );
  assert.deepEqual(
    await one("select count(*)::int as n from lead_import_rows where account_id = $1"),
    { n: 0 },
  );
}

const script = fileURLToPath(new URL("../../../test/support/worker-process.ts", import.meta.url));

function spawnWorker(): ChildProcess {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return spawn(process.execPath, [script], {
    env: { PATH, NODE_COMPILE_CACHE, DATABASE_URL: api.database_url },
    stdio: ["pipe", "inherit", "inherit"],
  });
}

test("three workers that contend for imports create each row once", async () => {
  const accounts = await Promise.all([makeAccount(api.app), makeAccount(api.app)]);
  const ids = await Promise.all(accounts.map((of) => uploadRows(of, 3_000)));
  const workers = [startWorker(api.app), startWorker(api.app)];
  const other = spawnWorker();
  for (const [i, of] of accounts.entries()) {
    await eventually(async () => (await progress(of, ids[i]!)).state === "completed");
    await assertExact(of, ids[i]!, 3_000);
  }
  await Promise.all(workers.map((worker) => worker.stop()));
  other.kill("SIGKILL");
  await once(other, "exit");
});

test("workers killed repeatedly during an import lose and repeat nothing", async () => {
  const of = await makeAccount(api.app);
  const rows = 12_000;
  const id = await unfinished(of, rows, async (upload) => {
    for (let kill = 1; kill <= 3; kill++) {
      const already = (await progress(of, upload)).createdCount;
      const worker = spawnWorker();
      await eventually(async () => {
        const { createdCount, state } = await progress(of, upload);
        return createdCount > already || state === "completed";
      });
      worker.kill("SIGKILL");
      await once(worker, "exit");
    }
  });
  const worker = startWorker(api.app);
  await eventually(async () => (await progress(of, id)).state === "completed");
  await worker.stop();
  await assertExact(of, id, rows);
});

/** Returns an import that `disturb` interrupted; starts another if a slow machine interrupted it too late. */
async function unfinished(
  of: TestAccount,
  rows: number,
  disturb: (id: number) => Promise<void>,
): Promise<number> {
  for (;;) {
    const id = await uploadRows(of, rows);
    await disturb(id);
    if ((await progress(of, id)).state === "processing") return id;
    for (const table of ["leads", "contacts", "events", "lead_import_rejects"])
      await api.app.db.pool.query(`delete from ${table} where account_id = $1`, [of.account_id]);
  }
}

test("a stopped worker finishes its batch, and another continues from there", async () => {
  const of = await makeAccount(api.app);
  const id = await unfinished(of, 5_000, async (upload) => {
    const first = startWorker(api.app);
    await eventually(async () => (await progress(of, upload)).createdCount > 0);
    await first.stop();
  });
  const stopped = await progress(of, id);
  // Whole batches of 500 row numbers, of which the first is the header's.
  assert.equal((stopped.createdCount + stopped.rejectedCount + 1) % 500, 0);
  const second = startWorker(api.app);
  await eventually(async () => (await progress(of, id)).state === "completed");
  await second.stop();
  await assertExact(of, id, 5_000);
});
