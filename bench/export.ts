// Measures the CSV export of a million recipients and a million calls, compared with psql \copy of the same
// rows, and the effect of a slow reader: `npm --prefix bench run export`; `-- --smoke` for a small run.
import { join } from "node:path";
import { openFixture, type Fixture, type Name } from "./export/fixture.ts";
import { readExport, readSlowly, type Export } from "./export/readers.ts";
import { reportExports, type ExportFigures } from "./export/report.ts";
import { settledMemory_mb } from "./lib/memory.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { rows: 5_000, slow_seconds: 1, looks: 2 }
  : { rows: 1_000_000, slow_seconds: 10, looks: 20 };

await runBench("export", smoke, measure);

async function measure({ data_dir, postgres, machine, defer }: Bench): Promise<string> {
  const fixture = await openFixture(postgres.url, join(data_dir, "service"), size.rows);
  defer(() => fixture.close());
  const idle_mb = await settledMemory_mb(fixture.service.pid, size.looks);
  // The first export grows the heap to its final size.
  await readExport(exportOf(fixture, "recipients"));
  const figures: ExportFigures[] = [];
  for (const name of ["recipients", "calls"] as const)
    figures.push(await runExport(fixture, name, idle_mb));
  return reportExports(figures, size, machine);
}

function exportOf({ exports, token, service }: Fixture, name: Name): Export {
  return { ...exports[name], token, pid: service.pid };
}

async function runExport(fixture: Fixture, name: Name, idle_mb: number): Promise<ExportFigures> {
  const of = exportOf(fixture, name);
  const copy_seconds = await fixture.copy(name);
  console.log(`${name}: psql ${copy_seconds.toFixed(1)} s`);
  const whole = await readExport(of);
  console.log(`${name}: export ${whole.seconds.toFixed(1)} s, ${whole.rows} rows`);
  if (whole.rows !== size.rows) throw new Error(`${whole.rows} of ${size.rows} rows arrived`);
  const after_mb = await settledMemory_mb(fixture.service.pid, size.looks);
  const slow = await readSlowly(of, size.slow_seconds, fixture.transactions);
  return { name, idle_mb, copy_seconds, whole, after_mb, slow };
}
