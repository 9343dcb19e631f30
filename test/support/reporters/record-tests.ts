// A node:test reporter that prints nothing: it records the result of each test, one file of JSON lines per
// test file, so that `npm run check:contract` can prove that a test ran and passed.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { groups_folder, recordFile, type TestRecord } from "./test-record.ts";

const root = join(import.meta.dirname, "../../..");

/** Fields of the runtime's events that their published types lack. */
type Located = {
  readonly name: string;
  readonly testId: number;
  readonly parentId: number;
  readonly file?: string;
  /** The test file; absent on events about the file as a whole. */
  readonly entryFile?: string;
  readonly skip?: string | boolean;
  readonly todo?: string | boolean;
  readonly details?: { readonly type?: string };
};
type FileRun = { readonly nodes: Map<number, Located>; readonly records: TestRecord[] };

/** Writes the records of every file that ran. Unlike node:test, fails a run without tests. */
export default async function* recordTests(
  source: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  const runs = new Map<string, FileRun>();
  for await (const { type, data } of source) {
    const event = data as unknown as Located;
    if (event.entryFile !== undefined) {
      const run = runs.get(event.entryFile) ?? { nodes: new Map(), records: [] };
      runs.set(event.entryFile, run);
      note(run, type, event);
    } else if (type === "test:dequeue" && event.file !== undefined) {
      rmSync(recordFile(root, relative(root, event.file)), { force: true });
    }
  }
  for (const [file, { records }] of runs)
    for (const [testFile, own] of byTestFile(relative(root, file), records))
      writeRecords(testFile, own);
  if ([...runs.values()].every(({ records }) => records.length === 0)) {
    process.exitCode = 1;
    yield "no test was found\n";
  }
}

function note(run: FileRun, type: TestEvent["type"], event: Located): void {
  if (type === "test:enqueue") run.nodes.set(event.testId, event);
  if (type !== "test:pass" && type !== "test:fail") return;
  if (event.details?.type === "suite") return;
  run.records.push({ name: fullName(run.nodes, event), outcome: outcome(type, event) });
}

function fullName(nodes: ReadonlyMap<number, Located>, event: Located): string {
  const parent = nodes.get(event.parentId);
  return parent ? `${fullName(nodes, parent)} › ${event.name}` : event.name;
}

function outcome(type: "test:pass" | "test:fail", { skip, todo }: Located): TestRecord["outcome"] {
  if (skip !== undefined && skip !== false) return "skipped";
  if (todo !== undefined && todo !== false) return "todo";
  return type === "test:pass" ? "passed" : "failed";
}

/** Returns the records of a process by test file; a group names the file as the outermost suite of each test. */
function byTestFile(entry: string, records: readonly TestRecord[]): [string, TestRecord[]][] {
  if (!entry.startsWith(groups_folder)) return [[entry, [...records]]];
  const files = Map.groupBy(records, ({ name }) => name.split(" › ", 1)[0]!);
  return [...files].map(([file, own]) => [
    file,
    own.map((record) => ({ ...record, name: record.name.slice(`${file} › `.length) })),
  ]);
}

function writeRecords(testFile: string, records: readonly TestRecord[]): void {
  const file = recordFile(root, testFile);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
}
