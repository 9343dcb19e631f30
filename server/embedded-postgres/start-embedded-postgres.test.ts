import assert from "node:assert/strict";
import { once } from "node:events";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { isServerOf, orphanedBackends } from "./postmaster-pid.ts";
import { startEmbeddedPostgres } from "./start-embedded-postgres.ts";
import {
  needs_root,
  openClusterFixture,
  ordinary_uid,
  openFixtureWithCluster,
  query,
  userOf,
} from "./test/cluster-fixture.ts";

const silent = () => {};

test("an empty folder becomes a durable database that only its password opens", async (t) => {
  const fixture = await openClusterFixture(t);
  const starter = fixture.start();
  const { url, adopted } = await starter.ready;
  assert.equal(adopted, false);
  const [settings] = await query(
    url,
    `select current_database() as database, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages,
       current_setting('data_checksums') as checksums, current_setting('server_encoding') as encoding,
       current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
       lower('ÄÉ') as lower, rolsuper as superuser from pg_roles where rolname = current_user`,
  );
  assert.deepEqual(settings, {
    database: "trunkline",
    fsync: "on",
    commit: "on",
    pages: "on",
    checksums: "on",
    encoding: "UTF8",
    addresses: "127.0.0.1",
    sockets: "",
    lower: "äé",
    superuser: true,
  });
  await assert.rejects(
    query(url.replace(/:[^:@]+@/, ":wrong@"), "select"),
    /password authentication/,
  );
  assert.equal(fs.statSync(fixture.paths.password_file).mode & 0o777, 0o600);
  assert.equal(fs.statSync(fixture.paths.log_file).mode & 0o777, 0o600);
  const password = fs.readFileSync(fixture.paths.password_file, "utf8");
  assert.ok(!starter.lines.join("\n").includes(password), "the log lines hold the password");
  assert.ok(!fs.readFileSync(fixture.paths.log_file, "utf8").includes(password));
});

test("a database can be cloned from the program's own while the owner's connection is open", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const { url } = await fixture.start().ready;
  await query(url, "create table kept as select 7 as n");
  await query(url.replace(/\/trunkline$/, "/postgres"), "create database clone template trunkline");
  assert.deepEqual(await query(url.replace(/\/trunkline$/, "/clone"), "select n from kept"), [
    { n: 7 },
  ]);
});

test("stop waits until every process is gone, may be repeated, and the next start has the data at the same address", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const first = await startEmbeddedPostgres({ dataDir: fixture.data_dir, log: silent });
  await query(first.url, "create table kept as select 7 as n");
  await Promise.all([first.stop(), first.stop()]);
  await first.stop();
  assert.equal(isServerOf(fixture.paths, first.pid), false);
  assert.deepEqual(orphanedBackends(fixture.paths), []);
  const second = await startEmbeddedPostgres({ dataDir: fixture.data_dir, log: silent });
  try {
    assert.equal(second.adopted, false);
    assert.equal(second.url, first.url);
    assert.deepEqual(await query(second.url, "select n from kept"), [{ n: 7 }]);
  } finally {
    await second.stop();
  }
});

test("a port that another program has taken meanwhile is replaced", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const first = await startEmbeddedPostgres({ dataDir: fixture.data_dir, log: silent });
  await first.stop();
  const port = Number(new URL(first.url).port);
  const squatter = createServer().listen(port, "127.0.0.1");
  await once(squatter, "listening");
  t.after(() => squatter.close());
  const second = await startEmbeddedPostgres({ dataDir: fixture.data_dir, log: silent });
  try {
    assert.notEqual(new URL(second.url).port, String(port));
    assert.equal((await query(second.url, "select")).length, 1);
  } finally {
    await second.stop();
  }
});

test("a second start on a folder in use reports its owner and does not disturb it", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const owner = fixture.start();
  const { url } = await owner.ready;
  const refusal = {
    name: "EmbeddedPostgresError",
    message: new RegExp(`already running on ${fixture.data_dir} \\(pid ${owner.pid}\\)`),
  };
  await assert.rejects(fixture.start().ready, refusal);
  await assert.rejects(startEmbeddedPostgres({ dataDir: fixture.data_dir, log: silent }), refusal);
  assert.equal((await query(url, "select")).length, 1);
});

test("of three concurrent first starts on an empty folder one wins, and the others report it", async (t) => {
  const fixture = await openClusterFixture(t);
  const starters = [fixture.start(), fixture.start(), fixture.start()];
  const outcomes = await Promise.allSettled(starters.map(({ ready }) => ready));
  const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
  const lost = outcomes.filter((outcome) => outcome.status === "rejected");
  assert.equal(won.length, 1, JSON.stringify(outcomes));
  for (const { reason } of lost) assert.match(reason.message, /already running on .* \(pid \d+\)/);
  assert.deepEqual(leftOvers(fixture.data_dir), []);
  assert.equal((await query(won[0]!.value.url, "select")).length, 1);
});

test("an ordinary user's server runs as that user, from the first start to the next", async (t) => {
  const fixture = await openClusterFixture(t, ordinary_uid);
  for (const n of [0, 1]) {
    const starter = fixture.start({ uid: ordinary_uid });
    const { url, pid } = await starter.ready;
    assert.equal(userOf(pid), ordinary_uid);
    await query(url, `create table kept_${n} ()`);
    await starter.stop();
  }
});

test(
  "root's server runs as nobody, although no other user can reach its folder",
  { skip: needs_root },
  async (t) => {
    const fixture = await openClusterFixture(t);
    const outer = join(fixture.data_dir, "..");
    assert.deepEqual([fs.statSync(outer).uid, fs.statSync(outer).mode & 0o777], [0, 0o700]);
    for (const n of [0, 1]) {
      const starter = fixture.start();
      const { url, pid } = await starter.ready;
      assert.equal(userOf(pid), 65_534);
      await query(url, `create table kept_${n} ()`);
      await starter.stop();
    }
    assert.equal(fs.statSync(fixture.paths.cluster_dir).uid, 65_534);
  },
);

test("Ctrl-C in a terminal does not reach the server before its owner stops it", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const starter = fixture.start();
  const { url, pid } = await starter.ready;
  process.kill(-starter.pid, "SIGINT"); // What a terminal does: to the whole process group.
  await starter.ended;
  assert.deepEqual(await query(url, "select 7 as n"), [{ n: 7 }]);
  assert.equal((await fixture.start().ready).pid, pid);
});

function leftOvers(data_dir: string): string[] {
  return fs.readdirSync(data_dir).filter((name) => /draft|password\./.test(name));
}
