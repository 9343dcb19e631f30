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
 * Returns few and quick test files in which, together with those that run anyway, every file of the server issues its
 * SQL: each time the one with the most files that are still missing for its CPU time.
 */
export function coveringFiles(
  runs: ReadonlyMap<string, RecordedRun>,
  runsAnyway: (file: string) => boolean,
): string[] {
  const left = new Map(
    [...runs].map(([file, { cpu_ms, statements }]) => {
      const sources = new Set(statements.map(({ source }) => source));
      return [file, { cpu_ms, sources }] as const;
    }),
  );
  const missing = new Set([...left.values()].flatMap(({ sources }) => [...sources]));
  const take = (file: string) => {
    for (const source of left.get(file)!.sources) missing.delete(source);
    left.delete(file);
  };
  for (const file of runs.keys()) if (runsAnyway(file)) take(file);
  const chosen: string[] = [];
  while (missing.size > 0) {
    const worth = (file: string) => {
      const { cpu_ms, sources } = left.get(file)!;
      return [...sources].filter((source) => missing.has(source)).length / cpu_ms;
    };
    const best = [...left.keys()].reduce((one, next) => (worth(next) > worth(one) ? next : one));
    chosen.push(best);
    take(best);
  }
  return chosen.toSorted();
}
