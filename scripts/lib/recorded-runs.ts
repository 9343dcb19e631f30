// What the last run of each test file was like, as test/support/record-statements.ts records it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A statement that the server issued, and its file. */
export type Recorded = { readonly source: string; readonly text: string };

export type RecordedRun = { readonly cpu_ms: number; readonly statements: readonly Recorded[] };

/** Reads the recorded run of every test file, by its path. */
export function readRecordedRuns(root: string): ReadonlyMap<string, RecordedRun> {
  const folder = join(root, ".cache/statements-ran");
  if (!existsSync(folder)) return new Map();
  const records = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .toSorted();
  return new Map(
    records.map((name) => [
      name.slice(0, -".json".length),
      JSON.parse(readFileSync(join(folder, name), "utf8")) as RecordedRun,
    ]),
  );
}

/**
 * Returns few and quick test files that together issue every statement of all of them: each time the one with the most
 * statements that are still missing for its CPU time.
 */
export function coveringFiles(runs: ReadonlyMap<string, RecordedRun>): string[] {
  const missing = new Set([...runs.values()].flatMap(({ statements }) => statements.map(textOf)));
  const left = new Map(runs);
  const chosen: string[] = [];
  while (missing.size > 0) {
    const worth = ({ statements, cpu_ms }: RecordedRun) =>
      statements.filter(({ text }) => missing.has(text)).length / cpu_ms;
    const [file, run] = [...left].reduce((best, next) =>
      worth(next[1]) > worth(best[1]) ? next : best,
    );
    chosen.push(file);
    left.delete(file);
    for (const { text } of run.statements) missing.delete(text);
  }
  return chosen.toSorted();
}

const textOf = ({ text }: Recorded) => text;
