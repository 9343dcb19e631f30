import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../../test/support/eventually.ts";
import {
  startReplicatedPostgres,
  type ReplicatedPostgres,
} from "../../test/support/replicated-postgres.ts";
import { openDatabase } from "../lib/database/database.ts";
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import { openReadReplica } from "../lib/database/read-replica.ts";
import { openLog } from "../lib/log.ts";
import { recognizeDatabase } from "./database-identity.ts";

const log = openLog("silent", { readable: false });
let postgres: ReplicatedPostgres;
before(async () => {
  postgres = await startReplicatedPostgres();
});
after(() => postgres[Symbol.asyncDispose]());

test("a database that is still in recovery is unavailable", async () => {
  const standby = openDatabase(postgres.replica_url, log);
  try {
    await assert.rejects(recognizeDatabase(standby, new Date()), (error) => {
      assert.match(String(error), /the database is in recovery/);
      return isDatabaseUnavailable(error);
    });
  } finally {
    await standby.close();
  }
});

test("a replica that was left on the timeline before a restore is not read", async () => {
  const stale_ms = 600_000;
  const lost = openDatabase(postgres.primary_url, log);
  await recognizeDatabase(lost, new Date());
  const follower = openReadReplica(lost, postgres.replica_url, stale_ms, log);
  await eventually(() => follower.isUsable());
  await follower.close();
  const { primary_url, replica_url } = await postgres.loseTimeline(async () => {
    await lost.pool.query("create table lost as select generate_series(1, 100000) as id");
    await lost.close();
  });
  const restored = openDatabase(primary_url, log);
  assert.equal(await recognizeDatabase(restored, new Date()), true);
  const replica = openReadReplica(restored, replica_url, stale_ms, log);
  try {
    await eventually(() => replica.problem()?.includes("restore or failover") ?? false);
    assert.equal(replica.isUsable(), false);
  } finally {
    await replica.close();
    await restored.close();
  }
});
