// Lead creation over HTTP beside the best plain SQL can do, in one run on one cluster:
// `npm --prefix bench run leads`; `run smoke` does everything once and small.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../server/embedded-postgres/start-embedded-postgres.ts";
import { startService } from "../test/support/service-process.ts";
import {
  checkInvariants,
  checkCreated,
  countLeads,
  createdCount,
} from "./leads/check-invariants.ts";
import { openFixture, type Fixture } from "./leads/fixture.ts";
import { startHello } from "./leads/hello.ts";
import { connections, pgbench, wrk } from "./leads/load.ts";
import { measureLatency } from "./leads/measure-latency.ts";
import { measureStart } from "./leads/measure-start.ts";
import { reportLeads, type Figures, type Round } from "./leads/report.ts";
import { dataFolder } from "./lib/data-folder.ts";
import { describeMachine } from "./lib/describe-machine.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { known: 5_000, rounds: 1, warm_seconds: 1, seconds: 1, requests: 50, starts: 1, clients: [8] }
  : {
      known: 100_000,
      rounds: 5,
      warm_seconds: 5,
      seconds: 5,
      requests: 2_000,
      starts: 5,
      clients: [8, 16, 32],
    };

const dataDir = dataFolder(smoke);
try {
  const { figures, postgres } = await measureLoad();
  const start = await measureStart(dataDir, size.starts);
  const report = reportLeads({ ...figures, ...start }, describeMachine(postgres));
  console.log(report);
  if (!smoke) {
    const date = new Date().toISOString().slice(0, 10);
    await writeFile(join(import.meta.dirname, "results", `${date}-leads.md`), report);
  }
} finally {
  await rm(dataDir, { recursive: true, force: true });
}

async function measureLoad() {
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => {} });
  const service = await startService({ DATABASE_URL: postgres.url, DATA_DIR: dataDir });
  const fixture = await openFixture(service, postgres.url, size.known);
  try {
    // Or the checkpoint of the rows just laid would run beside it: no idle server.
    await fixture.db.query("checkpoint");
    const latency = await measureLatency(fixture, size.requests);
    await wrk(fixture, service.url, size.warm_seconds, 0);
    const rounds: Round[] = [];
    for (let i = 1; i <= size.rounds; i++) rounds.push(await runRound(fixture, i));
    await checkInvariants(fixture);
    const { rows } = await fixture.db.query<{ v: string }>(
      "select setting as v from pg_settings where name = 'server_version'",
    );
    const figures: Omit<Figures, "ready_seconds" | "idle_mb"> = { ...latency, rounds };
    return { figures, postgres: rows[0]?.v ?? "unknown" };
  } finally {
    await fixture.db.end();
    await service.dispose();
    await postgres.stop();
  }
}

/** Everybody once, each from a fresh checkpoint, each round beginning with another. */
async function runRound(fixture: Fixture, number: number): Promise<Round> {
  const round: Record<string, number> = {};
  const best = async (script: "one-lead" | "function") => {
    const rates = [];
    for (const clients of size.clients)
      rates.push((await pgbench(fixture, script, clients, size.seconds)).per_second);
    return Math.max(...rates);
  };
  const contenders: [keyof Round, () => Promise<number>][] = [
    ["http", () => createOverHttp(fixture, number)],
    ["one_lead", () => best("one-lead")],
    ["function", () => best("function")],
    ["hello_fastify", () => greet(fixture, "hello-fastify")],
    ["hello_http", () => greet(fixture, "hello-http")],
  ];
  const first = number % contenders.length;
  for (const [name, run] of [...contenders.slice(first), ...contenders.slice(0, first)]) {
    await fixture.db.query("checkpoint");
    round[name] = await run();
    console.log(`round ${number} ${name}: ${Math.round(round[name])}/s`);
  }
  return round as Round;
}

async function createOverHttp(fixture: Fixture, seed: number): Promise<number> {
  const before = { leads: await countLeads(fixture), counted: await createdCount(fixture) };
  const { answers, refused, broken, seconds } = await wrk(
    fixture,
    fixture.service.url,
    size.seconds,
    seed,
  );
  if (refused + broken > 0) throw new Error(`${refused} answers were refusals, ${broken} broke`);
  await checkCreated(fixture, before, answers, connections);
  return answers / seconds;
}

async function greet(fixture: Fixture, name: "hello-fastify" | "hello-http"): Promise<number> {
  const answer_bytes = 560;
  const hello = await startHello(name, answer_bytes);
  await wrk(fixture, hello.url, 1, 0);
  const { answers, seconds } = await wrk(fixture, hello.url, Math.min(3, size.seconds), 0);
  await hello.stop();
  return answers / seconds;
}
