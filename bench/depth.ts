// Measures pages, writes, iterations of the background and idle cost of an account with little data and of one with much:
// `npm --prefix bench run depth -- --leads 5000000 --messages 10000000`; `-- --smoke` for a small run.
import { parseArgs } from "node:util";
import { setTimeout as wait } from "node:timers/promises";
import { measureIterations } from "./depth/background.ts";
import { openFixture, type Fixture } from "./depth/fixture.ts";
import { measureIdle } from "./depth/idle-cost.ts";
import { measureReads } from "./depth/reads.ts";
import { reportDepth, type Figures } from "./depth/report.ts";
import { measureRetention } from "./depth/retention.ts";
import { measureGrowth } from "./depth/growth.ts";
import { measureWrites } from "./depth/writes.ts";
import { runBench } from "./lib/run-bench.ts";

const { values } = parseArgs({
  options: {
    leads: { type: "string", default: "1000000" },
    messages: { type: "string", default: "2000000" },
    smoke: { type: "boolean", default: false },
  },
});
const size = values.smoke
  ? { fresh: 200, leads: 2_000, messages: 4_000, samples: 2, made: 20, calls: 2, seconds: 2 }
  : {
      fresh: 1_000,
      leads: Number(values.leads),
      messages: Number(values.messages),
      samples: 20,
      made: 10_000,
      calls: 200,
      seconds: 30,
    };

await runBench("depth", values.smoke, async (bench) => {
  const fixture = await openFixture(bench);
  await fixture.fill("fresh", { leads: size.fresh, messages: size.fresh });
  const fresh = await measureAll(fixture, "fresh");
  const began = performance.now();
  await fixture.fill("deep", size);
  const fill_seconds = (performance.now() - began) / 1_000;
  console.log(`filled in ${fill_seconds.toFixed(0)} s`);
  const deep = await measureAll(fixture, "deep");
  const beside = await measureAll(fixture, "fresh");
  const tables = await fixture.tables();
  const growth = await measureGrowth(fixture, size);
  const retention = await measureRetention(fixture, size);
  return reportDepth(
    { size, fill_seconds, fresh, deep, beside, tables, growth, retention },
    bench.machine,
  );
});

async function measureAll(fixture: Fixture, name: "fresh" | "deep"): Promise<Figures> {
  const reads = await measureReads(fixture, name, size.samples);
  const writes = await measureWrites(fixture, name, size.samples);
  const iterations = await measureIterations(fixture, name, size.samples);
  const worker = await fixture.startWorker();
  await wait(values.smoke ? 1_000 : 20_000);
  const idle = await measureIdle(fixture, size.seconds);
  await worker.stop();
  console.log(`${name}: measured`);
  return { timings: { ...reads, ...writes, ...iterations }, idle };
}
