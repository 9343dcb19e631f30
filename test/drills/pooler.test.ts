// The service behind PgBouncer, which is otherwise as installed.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import pg from "pg";
import { openNotifications } from "../../server/engine/notifications.ts";
import { openDatabase, statement } from "../../server/lib/database/database.ts";
import { openReadReplica } from "../../server/lib/database/read-replica.ts";
import { PoolerError, requireSessions } from "../../server/lib/database/require-sessions.ts";
import { openLog } from "../../server/lib/log.ts";
import type { Demo } from "../../server/seed-demo/demo-file.ts";
import { checkCampaigns, checkLedger } from "../support/check-invariants.ts";
import { cloneDatabase, emptyDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startPgBouncer } from "../support/pgbouncer.ts";
import { spawnService, startService } from "../support/service-process.ts";

const log = openLog("silent", { readable: false });

test("in session mode, the service migrates an empty database and completes a campaign", async () => {
  await using closing = new AsyncDisposableStack();
  const database = await emptyDatabase();
  closing.defer(() => database.drop());
  const pooler = closing.use(await startPgBouncer(database.url, "session"));
  const service = await startService({ DATABASE_URL: pooler.url });
  closing.defer(() => service.dispose());
  const demo = JSON.parse(await readFile(`${service.data_dir}/demo.json`, "utf8")) as Demo;
  const token = demo.tokens["account"];
  const json = {
    name: "Through a pooler",
    chat_number_id: demo.chat_number_id,
    template_id: demo.template_id,
    contacts: [{ phone_number: "919876543210" }],
  };
  const path = "/api/v1/chat/campaigns";
  const headers = { "idempotency-key": "pooler" };
  const { status, body, text } = await service.send("POST", path, { token, headers, json });
  assert.equal(status, 201, text);
  await eventually(async () => {
    const answer = await service.send("GET", `${path}/${body.id}`, { token });
    return answer.body.status === "completed";
  });
  const client = new pg.Client(database.url);
  await client.connect();
  await checkLedger(client);
  await checkCampaigns(client);
  await client.end();
});

test("in session mode, settings, prepared statements and notifications work, and no session inherits any", async () => {
  await using closing = new AsyncDisposableStack();
  const database = await cloneDatabase();
  closing.defer(() => database.drop());
  const { url } = closing.use(await startPgBouncer(database.url, "session"));
  const readTimeout = statement<{ timeout: string }>(
    "select current_setting('statement_timeout') as timeout where $1",
  );
  for (let session = 0; session < 2; session++) {
    const db = openDatabase(url, log, { connections: 1 });
    for (let use = 0; use < 2; use++)
      assert.deepEqual(await readTimeout(db.pool, [true]), [{ timeout: "10s" }]);
    await db.close();
  }
  const [sender, listener] = [openNotifications(url, log), openNotifications(url, log)];
  closing.defer(() => sender.close());
  closing.defer(() => listener.close());
  const received: string[] = [];
  listener.on("job", (subject) => void received.push(subject));
  await eventually(() => {
    sender.send("job", "1");
    return received.includes("1");
  });
});

test("in transaction mode, the service does not start, a replica is not used, and both say what to change", async () => {
  await using closing = new AsyncDisposableStack();
  const database = await cloneDatabase();
  closing.defer(() => database.drop());
  const { url } = closing.use(await startPgBouncer(database.url, "transaction"));
  await assert.rejects(requireSessions(url), PoolerError);
  await requireSessions(database.url);
  const service = await spawnService({ DATABASE_URL: url });
  closing.defer(() => service.dispose());
  assert.equal(await service.ended(), 1);
  assert.match(service.output(), /^DATABASE_URL: .*use pool_mode = session, or connect directly$/m);
  const primary = openDatabase(database.url, log);
  closing.defer(() => primary.close());
  const replica = openReadReplica(primary, url, 1_000, log);
  closing.defer(() => replica.close());
  await eventually(() => replica.problem()?.includes("use pool_mode = session") === true);
  assert.equal(replica.isUsable(), false);
});
