import { execFileSync, spawn } from "node:child_process";
import { chownSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { folder, clusterPathsIn, type ClusterPaths } from "../cluster-paths.ts";
import { isServerOf, liveServer, orphanedBackends } from "../postmaster-pid.ts";
import { signalProcess } from "../processes.ts";
import { startEmbeddedPostgres } from "../start-embedded-postgres.ts";
import { programFor } from "./program-for.ts";
import type { Owned, StarterLine } from "./starter.ts";

export const is_root = process.getuid?.() === 0;
/** The reason to skip tests that only root can run. */
export const needs_root = is_root ? false : "needs root";
/** The ordinary user of the tests: `nobody` for root, otherwise the current user. */
export const ordinary_uid = is_root ? 65_534 : process.getuid!();

/** starter.ts in its own process. */
export type Starter = {
  readonly pid: number;
  /** Its log lines so far. */
  readonly lines: readonly string[];
  /** Resolves when it owns a server; rejects with the message of its error. */
  readonly ready: Promise<Owned>;
  readonly ended: Promise<void>;
  /** Sends SIGKILL and waits until it is dead. */
  kill(): Promise<void>;
  /** Stops it cleanly. */
  stop(): Promise<void>;
};

/** A temporary data folder and the processes that a test starts on it; removed with the test. */
export type ClusterFixture = {
  readonly data_dir: string;
  readonly paths: ClusterPaths;
  start(options?: { uid?: number; command?: readonly string[] }): Starter;
  /** Runs `work` before the processes end and the folder is removed. */
  beforeEnd(work: () => void): void;
};

/** A cleanly stopped cluster, created once per test file, because copying is faster. */
let model: Promise<string> | null = null;
after(async () => {
  if (model !== null) await rm(await model, { recursive: true, force: true });
});

/** Opens a fixture with a copy of an existing cluster. */
export async function openFixtureWithCluster(t: TestContext): Promise<ClusterFixture> {
  const fixture = await openClusterFixture(t);
  const from = await (model ??= makeModel());
  // Keeps the owners; fs.cp would not.
  execFileSync("cp", ["-a", from, fixture.data_dir]);
  return fixture;
}

async function makeModel(): Promise<string> {
  const data_dir = await mkdtemp(join(tmpdir(), "trunkline-postgres-"));
  const postgres = await startEmbeddedPostgres({ dataDir: data_dir, log: () => {} });
  await postgres.stop();
  return data_dir;
}

/** Opens a fixture on an empty folder that belongs to `uid` and is closed to other users. */
export async function openClusterFixture(t: TestContext, uid?: number): Promise<ClusterFixture> {
  const outer = await mkdtemp(join(tmpdir(), "trunkline-postgres-"));
  if (uid !== undefined && is_root) chownSync(outer, uid, uid);
  const data_dir = join(outer, "data");
  const paths = clusterPathsIn(data_dir);
  const starters: Starter[] = [];
  const undo: (() => void)[] = [];
  t.after(async () => {
    for (const starter of starters) await starter.kill();
    await endServer(paths);
    for (const work of undo) work();
    await rm(outer, { recursive: true, force: true });
  });
  return {
    data_dir,
    paths,
    start: ({ uid: as, command = [] } = {}) => {
      const starter = followStarter(spawnStarter(data_dir, as, command));
      starters.push(starter);
      return starter;
    },
    beforeEnd: (work) => void undo.push(work),
  };
}

function spawnStarter(data_dir: string, uid: number | undefined, command: readonly string[]) {
  const other_user = uid !== undefined && is_root;
  const { node, starter } = programFor(other_user);
  const [program, ...args] = [...command, node, starter, data_dir] as const;
  return spawn(program, args, {
    ...(other_user ? { uid, gid: uid } : {}),
    cwd: "/",
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
}

function followStarter(child: ReturnType<typeof spawnStarter>): Starter {
  const lines: string[] = [];
  const started = Promise.withResolvers<Owned>();
  started.promise.catch(() => {}); // Callers that await it get the error.
  // Without a listener, a failed spawn is an uncaught exception and aborts the whole test file.
  child.on("error", started.reject);
  createInterface(child.stdout).on("line", (text) => {
    const line = JSON.parse(text) as StarterLine;
    if ("log" in line) lines.push(line.log);
    else if ("ready" in line) started.resolve(line.ready);
    else started.reject(Object.assign(new Error(line.failed.message), line.failed));
  });
  const ended = new Promise<void>((resolve) => {
    child.on("close", (code) => {
      started.reject(new Error(`exited with ${code}, output: ${lines.join("; ")}`));
      resolve();
    });
  });
  return {
    pid: child.pid!,
    lines,
    ready: started.promise,
    ended,
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
    stop: () => {
      child.stdin.end();
      return ended;
    },
  };
}

/** Kills the folder's server with SIGKILL, if one runs, and waits until its children have exited too. */
export async function killServer(paths: ClusterPaths): Promise<void> {
  const live = liveServer(paths);
  if (live === null) return;
  signalProcess(live.pid, "SIGKILL");
  await until("the server is dead", () => !isServerOf(paths, live.pid));
}

async function endServer(paths: ClusterPaths): Promise<void> {
  if (folder(paths) === null) return;
  await killServer(paths);
  for (const { pid } of orphanedBackends(paths)) signalProcess(pid, "SIGKILL");
  await until("its children are dead", () => orphanedBackends(paths).length === 0);
}

/** Returns the user that a process runs as. */
export function userOf(pid: number): number {
  if (process.platform === "linux") return statSync(`/proc/${pid}`).uid;
  return Number(execFileSync("ps", ["-o", "uid=", "-p", String(pid)], { encoding: "utf8" }));
}

/** Polls until `condition` holds; after two minutes fails with its name. */
export async function until(name: string, condition: () => boolean | Promise<boolean>) {
  const deadline_ms = performance.now() + 120_000;
  while (!(await condition())) {
    if (performance.now() > deadline_ms) throw new Error(`timed out waiting until ${name}`);
    await delay(10);
  }
}

/** Runs one statement on its own connection and returns its rows. */
export async function query(url: string, text: string): Promise<pg.QueryResult["rows"]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
