// Measures lead creation over HTTP, compared with the best plain SQL on the same cluster:
// `npm --prefix bench run leads`; `-- --smoke` for a small run.
import { join } from "node:path";
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
import { rotate } from "./lib/rotate.ts";
import { runBench } from "./lib/run-bench.ts";

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

await runBench("leads", smoke, async ({ data_dir, postgres, machine }) => {
  const load = await measureLoad(postgres.url, data_dir);
  // From here on the service starts this cluster itself.
  await postgres.stop();
  const start = await measureStart(join(data_dir, "db"), size.starts);
  return reportLeads({ ...load, ...start }, machine);
});

async function measureLoad(
  database_url: string,
  data_dir: string,
): Promise<Omit<Figures, "ready_seconds" | "idle_mb">> {
  const service = await startService({ DATABASE_URL: database_url, DATA_DIR: data_dir });
  const fixture = await openFixture(service, database_url, size.known);
  try {
    // Otherwise the checkpoint of the seeded rows runs during the measurement of the idle server.
    await fixture.db.query("checkpoint");
    const latency = await measureLatency(fixture, size.requests);
    await wrk(fixture, service.url, size.warm_seconds, 0);
    const rounds: Round[] = [];
    for (let i = 1; i <= size.rounds; i++) rounds.push(await runRound(fixture, i));
    await checkInvariants(fixture);
    return { ...latency, rounds };
  } finally {
    await fixture.db.end();
    await service.dispose();
  }
}

/** Runs each contender once, after a fresh checkpoint; each round starts with a different one. */
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
  for (const [name, run] of rotate(contenders, number)) {
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
  if (refused + broken > 0)
    throw new Error(`${refused} requests were refused, ${broken} connections broke`);
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
