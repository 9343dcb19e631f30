import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import pg from "pg";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { cloneDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { signalPostgres } from "../support/signal-postgres.ts";

type Role = "hold" | "jobs" | "relay" | "write";
type EngineProcess = {
  readonly lines: readonly string[];
  kill(signal: NodeJS.Signals): void;
  /** Kills the process and waits until it has exited. */
  end(): Promise<void>;
};

let started = 0;

async function startEngine(url: string, role: Role): Promise<EngineProcess> {
  const path = join(import.meta.dirname, "engine-process.ts");
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [path, role, `${role}-${++started}`], {
    env: { PATH, NODE_COMPILE_CACHE, DATABASE_URL: url },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const lines: string[] = [];
  createInterface(child.stdout).on("line", (line) => void lines.push(line));
  await eventually(() => lines.includes("ready"));
  return {
    lines,
    kill: (signal) => void child.kill(signal),
    async end() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

/** Creates the drill's tables; returns a function that runs a query on a new connection. */
async function openDrill(url: string) {
  const query = async (text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  await query(`
    create table drill_writes (id bigint generated always as identity, lease text, fence bigint, process text);
    create table drill_runs (id bigint generated always as identity, subject text, fence bigint, what text)`);
  return query;
}

type Query = Awaited<ReturnType<typeof openDrill>>;

/** Returns the fencing token of the last lease that the process acquired; 0 if none. */
const fenceOf = (engine: EngineProcess) =>
  Number(engine.lines.findLast((line) => line.startsWith("acquired"))?.split(" ")[1] ?? 0);
const writesOf = async (query: Query, fence: number) => {
  const [row] = await query(`select count(*)::int from drill_writes where fence = ${fence}`);
  return row!["count"] as number;
};
/** Waits until a process has a fencing token above `past` and has written under it; returns it. */
async function awaitHolder(
  query: Query,
  engines: EngineProcess[],
  past: number,
): Promise<EngineProcess> {
  let holder: EngineProcess | undefined;
  await eventually(async () => {
    holder = engines.find((engine) => fenceOf(engine) > past);
    return holder !== undefined && (await writesOf(query, fenceOf(holder))) > 5;
  });
  return holder!;
}

/** Checks that no write of an older holder follows one of a newer holder, by the order of IDs. */
async function checkFences(query: Query): Promise<void> {
  const stale = await query(`
    select from drill_writes a join drill_writes b on a.fence < b.fence and a.id > b.id limit 1`);
  assert.equal(stale.length, 0);
  const shared = await query(
    "select fence from drill_writes group by fence having count(distinct process) > 1",
  );
  assert.deepEqual(shared, []);
}

test("the lease of a killed holder passes on, and a holder that is frozen past its lease and resumed cannot write", async () => {
  const database = await cloneDatabase();
  const query = await openDrill(database.url);
  const engines = await Promise.all([
    startEngine(database.url, "hold"),
    startEngine(database.url, "hold"),
  ]);
  const killed = await awaitHolder(query, engines, 0);
  const first = fenceOf(killed);
  await killed.end();
  const survivors = engines.filter((engine) => engine !== killed);
  survivors.push(await startEngine(database.url, "hold"));

  const frozen = await awaitHolder(query, survivors, first);
  const second = fenceOf(frozen);
  frozen.kill("SIGSTOP");
  const other = survivors.find((engine) => engine !== frozen)!;
  await awaitHolder(query, [other], second);
  const written = await writesOf(query, second);
  frozen.kill("SIGCONT");
  await eventually(() => frozen.lines.includes(`ended ${second}`));
  await eventually(() => frozen.lines.includes(`refused ${second}`));
  assert.ok(!frozen.lines.includes(`wrote ${second}`));
  assert.equal(await writesOf(query, second), written);
  assert.ok(fenceOf(other) > second);
  await checkFences(query);
  for (const engine of survivors) await engine.end();
  await database.drop();
});

test("a lease is acquired again after PostgreSQL restarts or freezes for longer than the lease, without a stale write", async () => {
  const dataDir = scratchFolder("trunkline-engine-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  const query = await openDrill(postgres.url);
  const engines = await Promise.all([
    startEngine(postgres.url, "hold"),
    startEngine(postgres.url, "hold"),
  ]);
  let holder = await awaitHolder(query, engines, 0);
  await postgres.stop();
  // Longer than the lease: its holder has stopped by itself.
  const held = fenceOf(holder);
  await eventually(() => holder.lines.includes(`ended ${held}`));
  postgres = await start();
  holder = await awaitHolder(query, engines, held);

  const before_freeze = fenceOf(holder);
  signalPostgres(postgres.pid, "SIGSTOP");
  await eventually(() => engines.every((engine) => !isHolding(engine)));
  signalPostgres(postgres.pid, "SIGCONT");
  await awaitHolder(query, engines, before_freeze);
  await checkFences(query);
  for (const engine of engines) await engine.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});

/** Whether the process considers the last lease that it acquired as held. */
function isHolding(engine: EngineProcess): boolean {
  const last = engine.lines.findLast((line) => /^(acquired|ended)/.test(line));
  return last?.startsWith("acquired") ?? false;
}

test("while processes are killed and PostgreSQL restarts, no job runs twice at once or is lost, and no sequence number is missing", async () => {
  const dataDir = scratchFolder("trunkline-engine-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  const query = await openDrill(postgres.url);
  const roles: Role[] = ["jobs", "jobs", "relay", "relay", "write", "write"];
  const engines = await Promise.all(roles.map((role) => startEngine(postgres.url, role)));
  const writers = engines.slice(4);
  const committed = () =>
    writers.flatMap(({ lines }) =>
      lines.filter((line) => line.startsWith("committed")).map((line) => line.split(" ")[1]!),
    );
  const awaitCommitted = async (more: number) => {
    const goal = committed().length + more;
    await eventually(() => committed().length >= goal);
  };

  const seen: number[] = [];
  const readNewEvents = async () => {
    const rows = await query(
      `select seq::int from events where account_id = 1 and seq > ${seen.at(-1) ?? 0} order by seq`,
    );
    seen.push(...rows.map((row) => row["seq"] as number));
  };
  const disruptions = ["killed", "frozen", "killed", "frozen"] as const;
  for (const [i, disruption] of disruptions.entries()) {
    await awaitCommitted(30);
    await readNewEvents();
    const victim = engines[i]!;
    if (disruption === "killed") {
      await victim.end();
      engines[i] = await startEngine(postgres.url, roles[i]!);
      continue;
    }
    // Frozen past the leases of its claims, then resumed while others hold them.
    victim.kill("SIGSTOP");
    await awaitCommitted(150);
    victim.kill("SIGCONT");
    await postgres.stop();
    postgres = await start();
  }
  await awaitCommitted(30);
  for (const writer of writers) await writer.end();
  const left = async (table: string) => {
    const [row] = await query(`select count(*)::int from ${table}`);
    return row!["count"];
  };
  await eventually(async () => (await left("jobs")) === 0);
  await eventually(async () => (await left("events where seq is null")) === 0);
  await readNewEvents();

  const [{ count: events }] = (await query("select count(*)::int from events")) as [
    { count: number },
  ];
  assert.deepEqual(
    seen,
    Array.from({ length: events }, (_, i) => i + 1),
  );
  const runs = await query(
    "select subject, fence::float8 as fence, what from drill_runs order by id",
  );
  const ended = new Set(runs.filter(({ what }) => what === "end").map(({ subject }) => subject));
  for (const subject of committed()) assert.ok(ended.has(subject), `the job ${subject} was lost`);
  checkRuns(runs as Run[]);
  for (const engine of engines) await engine.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});

type Run = { subject: string; fence: number; what: "begin" | "end" };

/** Checks, in the order of the writes, that no write of a claim follows a write of the next claim. */
function checkRuns(runs: readonly Run[]): void {
  const latest = new Map<string, number>();
  for (const { subject, fence } of runs) {
    assert.ok(fence >= (latest.get(subject) ?? 0), `the job ${subject} ran twice at once`);
    latest.set(subject, fence);
  }
}
