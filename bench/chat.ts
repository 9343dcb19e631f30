// Every limit of chat, one bench after the other, in one table: `npm --prefix bench run chat`;
// `-- --smoke` does everything once and small.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { readTables, renderTable } from "./lib/figures.ts";

const benches = ["chat-intake", "chat-send", "chat-webhooks"];

const rows: (readonly string[])[] = [];
for (const bench of benches) {
  const printed = await run(bench);
  // A row with a verdict is one with a limit.
  const judged = readTables(printed).filter((cells) => /^(met|missed)$/.test(cells.at(-1) ?? ""));
  if (judged.length === 0) throw new Error(`${bench} printed no limit`);
  rows.push(...judged.map((cells) => [bench, ...cells]));
}
console.log("# Chat: all limits\n");
console.log(renderTable(["bench", "what", "measured", "figure", "limit", ""], rows));

/** Passes on what the bench prints, and returns it. */
async function run(bench: string): Promise<string> {
  const script = join(import.meta.dirname, `${bench}.ts`);
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
