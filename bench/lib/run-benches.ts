// Runs several benchmarks one after another and prints all limits in one table.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { readTables, renderTable } from "./figures.ts";

/** Runs each `<bench>.ts` with this process's options and prints the rows that have a verdict. */
export async function runBenches(title: string, benches: readonly string[]): Promise<void> {
  const rows: (readonly string[])[] = [];
  for (const bench of benches) {
    const printed = await run(bench);
    // A row with a limit ends with a verdict.
    const limited = readTables(printed).filter((cells) =>
      /^(met|missed)$/.test(cells.at(-1) ?? ""),
    );
    if (limited.length === 0) throw new Error(`${bench} printed no limit`);
    // The figure, the limit and the verdict come last.
    rows.push(...limited.map((cells) => [bench, cells[0]!, cells[1]!, ...cells.slice(-3)]));
  }
  console.log(`# ${title}: all limits\n`);
  console.log(renderTable(["bench", "what", "measured", "figure", "limit", ""], rows));
}

/** Prints the benchmark's output and returns it. */
async function run(bench: string): Promise<string> {
  const script = join(import.meta.dirname, "..", `${bench}.ts`);
  const child = spawn(process.execPath, [script, ...process.argv.slice(2)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    process.stdout.write(chunk);
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${bench} ended with ${code}`);
  return Buffer.concat(chunks).toString();
}
