// Loaded into the process of every test file: records the SQL statements of the server that it runs, with the files
// that issue them, so that `npm run check:statements` can check each of them, and `npm run test:installed-postgres`
// choose what it runs.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import pg from "pg";

const root = join(import.meta.dirname, "../..");
/** Frames that a statement passes on its way; the first one after them has issued it. */
const passed = /node_modules|node:|\/server\/lib\/|\/test\/support\/record-statements/;

/** Stands for a source that the stack does not show. */
const unknown = "unknown";

/** The test file that runs, the statements of it with their sources, and when it began. */
let ran = beginFile(relative(root, process.argv[1] ?? ""));

if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  // A pool waits for a connection by a callback, which loses the frames of its caller.
  recordQueries(pg.Pool.prototype);
  recordQueries(pg.Client.prototype);
  process.on("exit", writeStatements);
}

/** Records what follows as of this test file, where several run in a process. */
export function enterTestFile(file: string): void {
  writeStatements();
  ran = beginFile(file);
}

function beginFile(file: string) {
  return { file, sources: new Map<string, string>(), cpu: process.cpuUsage() };
}

type Queried = { query: (...args: unknown[]) => unknown };

/** Records each statement once, by its text, when the server issues it. */
function recordQueries(queried: Queried): void {
  const send = queried.query;
  queried.query = function query(this: unknown, ...args: unknown[]): unknown {
    const text = textOf(args[0]);
    const { sources } = ran;
    if (text !== undefined && (sources.get(text) ?? unknown) === unknown) {
      const source = issuer();
      if (source !== undefined) sources.set(text, source);
    }
    return Reflect.apply(send, this, args);
  };
}

function textOf(query: unknown): string | undefined {
  if (typeof query === "string") return query;
  const { text } = query as { text?: unknown };
  return typeof text === "string" ? text : undefined;
}

/** The server's file that issues the current statement, unless that is not known; undefined if a test does. */
function issuer(): string | undefined {
  const file = callers().find((name) => name.includes(root) && !passed.test(name));
  if (file === undefined) return unknown;
  const path = relative(root, file.replace("file://", ""));
  return path.startsWith("server/") && !/\.test\.ts$|\/test\//.test(path) ? path : undefined;
}

/** The files of the calls that led here, innermost first. Without the text of the stack, which takes half of the time. */
function callers(): readonly string[] {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = 60;
  Error.prepareStackTrace = (_error, frames) => frames.map((frame) => frame.getFileName() ?? "");
  const { stack } = new Error("here") as unknown as { readonly stack: readonly string[] };
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  return stack;
}

function writeStatements(): void {
  const { file, sources, cpu } = ran;
  if (sources.size === 0 || !file.endsWith(".test.ts")) return;
  const record = join(root, ".cache/statements-ran", `${file}.json`);
  mkdirSync(dirname(record), { recursive: true });
  const { user, system } = process.cpuUsage(cpu);
  const statements = [...sources].map(([text, source]) => ({ source, text }));
  writeFileSync(record, JSON.stringify({ cpu_ms: (user + system) / 1_000, statements }));
}
