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
  /** Ends it for good. */
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

/** The drill's own tables, and a connection of its own for each question. */
async function openDrill(url: string) {
  const ask = async (text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  await ask(`
    create table drill_writes (id bigint generated always as identity, lease text, fence bigint, process text);
    create table drill_runs (id bigint generated always as identity, subject text, fence bigint, what text)`);
  return ask;
}

type Ask = Awaited<ReturnType<typeof openDrill>>;

const fenceOf = (engine: EngineProcess) =>
  Number(engine.lines.findLast((line) => line.startsWith("took"))?.split(" ")[1] ?? 0);
const writesOf = async (ask: Ask, fence: number) => {
  const [row] = await ask(`select count(*)::int from drill_writes where fence = ${fence}`);
  return row!["count"] as number;
};
/** Waits until one of them has a fence above `past` and has written under it. */
async function heldBy(ask: Ask, engines: EngineProcess[], past: number): Promise<EngineProcess> {
  let holder: EngineProcess | undefined;
  await eventually(async () => {
    holder = engines.find((engine) => fenceOf(engine) > past);
    return holder !== undefined && (await writesOf(ask, fenceOf(holder))) > 5;
  });
  return holder!;
}

/** No write of an older holder comes after one of a newer: ids follow the order of the writes. */
async function checkFences(ask: Ask): Promise<void> {
  const stale = await ask(`
    select from drill_writes a join drill_writes b on a.fence < b.fence and a.id > b.id limit 1`);
  assert.equal(stale.length, 0);
  const shared = await ask(
    "select fence from drill_writes group by fence having count(distinct process) > 1",
  );
  assert.deepEqual(shared, []);
}

test("a killed holder's lease passes on; a frozen one, thawed past its time, can write no more", async () => {
  const database = await cloneDatabase();
  const ask = await openDrill(database.url);
  const engines = await Promise.all([
    startEngine(database.url, "hold"),
    startEngine(database.url, "hold"),
  ]);
  const killed = await heldBy(ask, engines, 0);
  const first = fenceOf(killed);
  await killed.end();
  const survivors = engines.filter((engine) => engine !== killed);
  survivors.push(await startEngine(database.url, "hold"));

  const frozen = await heldBy(ask, survivors, first);
  const second = fenceOf(frozen);
  frozen.kill("SIGSTOP");
  const other = survivors.find((engine) => engine !== frozen)!;
  await heldBy(ask, [other], second);
  const written = await writesOf(ask, second);
  frozen.kill("SIGCONT");
  await eventually(() => frozen.lines.includes(`ended ${second}`));
  await eventually(() => frozen.lines.includes(`refused ${second}`));
  assert.ok(!frozen.lines.includes(`wrote ${second}`));
  assert.equal(await writesOf(ask, second), written);
  assert.ok(fenceOf(other) > second);
  await checkFences(ask);
  for (const engine of survivors) await engine.end();
  await database.drop();
});

test("a lease is taken anew after PostgreSQL restarts or freezes for longer than it, with no stale write", async () => {
  const dataDir = scratchFolder("trunkline-engine-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  const ask = await openDrill(postgres.url);
  const engines = await Promise.all([
    startEngine(postgres.url, "hold"),
    startEngine(postgres.url, "hold"),
  ]);
  let holder = await heldBy(ask, engines, 0);
  await postgres.stop();
  // Longer than the lease: whoever held it has stopped by itself.
  const held = fenceOf(holder);
  await eventually(() => holder.lines.includes(`ended ${held}`));
  postgres = await start();
  holder = await heldBy(ask, engines, held);

  const before_freeze = fenceOf(holder);
  signalPostgres(postgres.pid, "SIGSTOP");
  await eventually(() => engines.every((engine) => !isActing(engine)));
  signalPostgres(postgres.pid, "SIGCONT");
  await heldBy(ask, engines, before_freeze);
  await checkFences(ask);
  for (const engine of engines) await engine.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});

/** Whether the lease it took last is one that it has not ended. A write it waits for is begun, not acted on. */
function isActing(engine: EngineProcess): boolean {
  const last = engine.lines.findLast((line) => /^(took|ended)/.test(line));
  return last?.startsWith("took") ?? false;
}

test("no job runs twice at once or is lost, and no event's place, while processes die and PostgreSQL restarts", async () => {
  const dataDir = scratchFolder("trunkline-engine-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  const ask = await openDrill(postgres.url);
  const roles: Role[] = ["jobs", "jobs", "relay", "relay", "write", "write"];
  const engines = await Promise.all(roles.map((role) => startEngine(postgres.url, role)));
  const writers = engines.slice(4);
  const committed = () =>
    writers.flatMap(({ lines }) =>
      lines.filter((line) => line.startsWith("committed")).map((line) => line.split(" ")[1]!),
    );
  const moves = async (more: number) => {
    const goal = committed().length + more;
    await eventually(() => committed().length >= goal);
  };

  const seen: number[] = [];
  const follow = async () => {
    const rows = await ask(
      `select seq::int from events where account_id = 1 and seq > ${seen.at(-1) ?? 0} order by seq`,
    );
    seen.push(...rows.map((row) => row["seq"] as number));
  };
  const victims = ["killed", "frozen", "killed", "frozen"] as const;
  for (const [i, fate] of victims.entries()) {
    await moves(30);
    await follow();
    const victim = engines[i]!;
    if (fate === "killed") {
      await victim.end();
      engines[i] = await startEngine(postgres.url, roles[i]!);
      continue;
    }
    // Past its claims' leases, then thawed among those who took them over.
    victim.kill("SIGSTOP");
    await moves(150);
    victim.kill("SIGCONT");
    await postgres.stop();
    postgres = await start();
  }
  await moves(30);
  for (const writer of writers) await writer.end();
  const left = async (table: string) => {
    const [row] = await ask(`select count(*)::int from ${table}`);
    return row!["count"];
  };
  await eventually(async () => (await left("jobs")) === 0);
  await eventually(async () => (await left("events where seq is null")) === 0);
  await follow();

  const [{ count: events }] = (await ask("select count(*)::int from events")) as [
    { count: number },
  ];
  assert.deepEqual(
    seen,
    Array.from({ length: events }, (_, i) => i + 1),
  );
  const runs = await ask("select subject, fence::int, what from drill_runs order by id");
  const ended = new Set(runs.filter(({ what }) => what === "end").map(({ subject }) => subject));
  for (const subject of committed()) assert.ok(ended.has(subject), `the job ${subject} was lost`);
  checkRuns(runs as Run[]);
  for (const engine of engines) await engine.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});

type Run = { subject: string; fence: number; what: "begin" | "end" };

/** In the order of the writes, nothing of a claim comes after something of the next claim. */
function checkRuns(runs: readonly Run[]): void {
  const latest = new Map<string, number>();
  for (const { subject, fence } of runs) {
    assert.ok(fence >= (latest.get(subject) ?? 0), `the job ${subject} ran twice at once`);
    latest.set(subject, fence);
  }
}
