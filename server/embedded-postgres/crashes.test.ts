import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { locateBinaries } from "./locate-binaries.ts";
import { obtainServer } from "./obtain-server.ts";
import { liveServer, orphanedBackends } from "./postmaster-pid.ts";
import { liveProcess, pidIsTaken } from "./processes.ts";
import {
  killServer,
  openClusterFixture,
  openFixtureWithCluster,
  query,
  until,
  type ClusterFixture,
} from "./test/cluster-fixture.ts";

/** Opens a fixture whose program and server were killed after they had committed; adds `rows` of ballast. */
async function openCrashedFixture(t: TestContext, rows = 0): Promise<ClusterFixture> {
  const fixture = await openFixtureWithCluster(t);
  const starter = fixture.start();
  const { url } = await starter.ready;
  await query(url, "create table kept as select 7 as n");
  if (rows > 0) {
    await query(
      url,
      `create table ballast as select repeat('x', 1000) from generate_series(1, ${rows})`,
    );
  }
  await starter.kill();
  await killServer(fixture.paths);
  await until("its children are gone", () => orphanedBackends(fixture.paths).length === 0);
  return fixture;
}

test("after SIGKILL of its owner the server is taken over by the next start, and stopped by it", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const first = fixture.start();
  const before = await first.ready;
  await query(before.url, "create table kept as select 7 as n");
  await first.kill();
  const second = fixture.start();
  assert.deepEqual(await second.ready, { ...before, adopted: true });
  assert.deepEqual(await query(before.url, "select n from kept"), [{ n: 7 }]);
  assert.match(second.lines.join(), /took over the running PostgreSQL \(pid \d+\)/);
  await second.stop();
  assert.equal(liveServer(fixture.paths), null);
});

test("after SIGKILL of owner and server, the next start recovers and loses nothing that was committed", async (t) => {
  const fixture = await openCrashedFixture(t);
  const { url, adopted } = await fixture.start().ready;
  assert.equal(adopted, false);
  assert.deepEqual(await query(url, "select n from kept"), [{ n: 7 }]);
});

test("a long recovery is reported and awaited; a start that gives up does not interrupt it", async (t) => {
  const { fixture, starter, replaying } = await frozenReplay(t);
  await until("the replay is reported", () =>
    starter.lines.some((line) => /recovering from a crash \(\d+ s so far\)/.test(line)),
  );
  const binaries = await locateBinaries(fixture.paths.account !== null);
  const impatience = { max_connections: 20, patience_ms: 100, log: () => {} };
  await assert.rejects(obtainServer(fixture.paths, binaries, impatience), {
    name: "EmbeddedPostgresError",
    message:
      /did not become ready within 0 s: it is still recovering from a crash\. .*start again later/,
  });
  process.kill(replaying, "SIGCONT");
  const { url } = await starter.ready;
  assert.deepEqual(await query(url, "select n from kept"), [{ n: 7 }]);
});

/**
 * Starts a server whose recovery is frozen, as by a very slow disk; tries again if recovery was over before
 * it could be frozen.
 */
async function frozenReplay(t: TestContext) {
  for (;;) {
    const fixture = await openCrashedFixture(t, 100_000);
    const starter = fixture.start();
    let isReady = false;
    void starter.ready.then(
      () => (isReady = true),
      () => {},
    );
    const replay = () =>
      orphanedBackends(fixture.paths).find(({ command }) =>
        command.includes(": startup recovering"),
      );
    await until("the log is being replayed", () => isReady || replay() !== undefined);
    const replaying = replay()?.pid;
    if (replaying === undefined) continue;
    process.kill(replaying, "SIGSTOP");
    return { fixture, starter, replaying };
  }
}

test("processes of a killed server are awaited, then killed, before a new one starts", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const first = fixture.start();
  const { url } = await first.ready;
  // An endless loop that does not notice the death of its server.
  const busy = query(url, "do $$ begin loop end loop; end $$").catch(() => {});
  await until("the loop runs", () =>
    orphanedBackends(fixture.paths).some(({ command }) => /trunkline .* DO$/.test(command)),
  );
  await first.kill();
  await killServer(fixture.paths);
  const second = fixture.start();
  const { adopted } = await second.ready;
  assert.equal(adopted, false);
  assert.match(
    second.lines.join(),
    /waiting for processes of a killed PostgreSQL to exit: pids \d+/,
  );
  await busy;
});

test("a postmaster.pid whose number now belongs to another program is removed", async (t) => {
  const fixture = await openCrashedFixture(t);
  const file = join(fixture.paths.cluster_dir, "postmaster.pid");
  // Run by the server's user: PostgreSQL itself ignores processes of other users.
  const other = spawn("sleep", ["60"], { ...fixture.paths.account, stdio: "ignore" });
  await once(other, "spawn");
  t.after(() => other.kill("SIGKILL"));
  const [, ...rest] = fs.readFileSync(file, "utf8").split("\n");
  fs.writeFileSync(file, [other.pid, ...rest].join("\n"));
  const starter = fixture.start();
  const { url, adopted } = await starter.ready;
  assert.equal(adopted, false);
  assert.match(
    starter.lines.join(),
    new RegExp(
      `removed a stale postmaster.pid: process ${other.pid} is not the server of this folder`,
    ),
  );
  assert.deepEqual(await query(url, "select n from kept"), [{ n: 7 }]);
  assert.notEqual(liveProcess(other.pid!), null, "the other program was harmed");
});

test("a postmaster.pid that a power cut left empty is removed", async (t) => {
  const fixture = await openCrashedFixture(t);
  fs.truncateSync(join(fixture.paths.cluster_dir, "postmaster.pid"));
  const starter = fixture.start();
  const { url } = await starter.ready;
  assert.match(starter.lines.join(), /removed a stale postmaster.pid: it names no process/);
  assert.deepEqual(await query(url, "select n from kept"), [{ n: 7 }]);
});

test("a folder copied from under a running server gets a server of its own", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const { pid } = await fixture.start().ready;
  const copy = await openClusterFixture(t);
  execFileSync("cp", ["-a", fixture.data_dir, copy.data_dir]);
  const second = await copy.start().ready;
  assert.equal(second.adopted, false);
  assert.notEqual(second.pid, pid);
});

test("when PostgreSQL restarts itself its owner survives and owns it again", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const owner = fixture.start();
  const { url, pid } = await owner.ready;
  const checkpointer = "select pid from pg_stat_activity where backend_type = 'checkpointer'";
  let found = await query(url, checkpointer);
  // It starts beside the first connections.
  while (found.length === 0) found = await query(url, checkpointer);
  process.kill(found[0].pid, "SIGKILL"); // PostgreSQL then ends every connection and starts over.
  await until("the owner is back", () =>
    owner.lines.includes("the connection to PostgreSQL is restored"),
  );
  assert.equal(liveServer(fixture.paths)?.pid, pid);
  await assert.rejects(
    fixture.start().ready,
    new RegExp(`already running on .* \\(pid ${owner.pid}\\)`),
  );
});

test("when its server is killed a living owner starts it again at the same address, and stops it", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const owner = fixture.start();
  const { url, pid } = await owner.ready;
  await query(url, "create table kept as select 7 as n");
  await killServer(fixture.paths);
  await until("the owner is back", () =>
    owner.lines.includes("the connection to PostgreSQL is restored"),
  );
  assert.deepEqual(await query(url, "select n from kept"), [{ n: 7 }]);
  assert.notEqual(liveServer(fixture.paths)?.pid, pid);
  await owner.stop();
  assert.equal(liveServer(fixture.paths), null);
});

test("an interrupted initdb is not mistaken for a cluster, and its files are removed", async (t) => {
  const fixture = await openInterruptedFixture(t);
  const { url } = await fixture.start().ready;
  assert.equal((await query(url, "select")).length, 1);
  assert.equal(draftFiles(fixture), 0);
});

/** Opens a fixture whose first initdb was killed; tries again if it finished too early. */
async function openInterruptedFixture(t: TestContext): Promise<ClusterFixture> {
  for (;;) {
    const fixture = await openClusterFixture(t);
    const first = fixture.start();
    const isMade = () => fs.existsSync(fixture.paths.cluster_dir);
    await until("initdb is at work", () => draftFiles(fixture) > 100 || isMade());
    process.kill(-first.pid, "SIGKILL"); // The whole group: it, initdb and what that has started.
    await until("all of it is dead", () => !pidIsTaken(-first.pid));
    if (!isMade()) {
      assert.ok(draftFiles(fixture) > 100);
      return fixture;
    }
  }
}

function draftFiles({ data_dir }: ClusterFixture): number {
  if (!fs.existsSync(data_dir)) return 0;
  const drafts = fs.readdirSync(data_dir).filter((name) => name.includes("draft"));
  return drafts.flatMap((name) =>
    fs.readdirSync(join(data_dir, name), { recursive: true, encoding: "utf8" }),
  ).length;
}
