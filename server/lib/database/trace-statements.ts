// A span for each statement that runs within another span; statements of polls, which run outside, have none.
import { AsyncLocalStorage } from "node:async_hooks";
import type pg from "pg";
import { currentTracing, errorType, type OpenSpan } from "../tracing/tracing.ts";

type Send = (...args: unknown[]) => unknown;

/** Statements differ by their text only in code, so that few are known; beyond it, summaries are made each time. */
const summaries_max = 2_000;
const summaries = new Map<string, string>();

/** Traces the statements of a new connection. */
export function traceStatements(client: pg.PoolClient): void {
  const send = client.query.bind(client) as Send;
  client.query = ((...args: unknown[]) => {
    const tracing = currentTracing();
    const text = textOf(args[0]);
    if (text === null || !tracing?.active()?.recording) return send(...args);
    const summary = summarize(text);
    const attributes = { "db.system.name": "postgresql", "db.query.summary": summary };
    const span = tracing.start(summary, { kind: "client", attributes });
    return sendInSpan(send, span, args);
  }) as typeof client.query;
}

/** The callbacks of a pool that waits for a connection otherwise run within the span of whoever released it. */
export function keepSpansOfWaiters(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (done?: unknown) => unknown;
  pool.connect = ((done?: (...args: unknown[]) => void) =>
    done ? connect(AsyncLocalStorage.bind(done)) : connect()) as typeof pool.connect;
}

function sendInSpan(send: Send, span: OpenSpan, args: unknown[]): unknown {
  const end = (error: unknown) => {
    if (error) span.fail(errorType(error));
    span.end();
  };
  const last = args.at(-1);
  if (typeof last === "function") {
    const done = (error: unknown, ...rest: unknown[]) => {
      end(error);
      (last as Send)(error, ...rest);
    };
    return send(...args.slice(0, -1), done);
  }
  const answer = send(...args);
  if (!(answer instanceof Promise)) {
    end(null);
    return answer;
  }
  return answer.then(
    (result: unknown) => {
      end(null);
      return result;
    },
    (error: unknown) => {
      end(error);
      throw error;
    },
  );
}

/** Null for a stream or a cursor, which ends long after its start. */
function textOf(query: unknown): string | null {
  if (typeof query === "string") return query;
  const { text, submit } = query as { text?: unknown; submit?: unknown };
  return typeof text === "string" && submit === undefined ? text : null;
}

const writes =
  /\b(insert)\s+into\s+"?(\w+)|(?<!\b(?:for|key|do)\s+)\b(update)\s+"?(\w+)|\b(delete)\s+from\s+"?(\w+)/i;
const reads = /\bfrom\s+"?([a-z_]\w*)|^\s*select\s+([a-z_]\w*)\(/i;

/** Returns the operation and its first table or function, such as `INSERT jobs`; nothing else of the statement. */
export function summarize(text: string): string {
  const known = summaries.get(text);
  if (known !== undefined) return known;
  const summary = summaryOf(text);
  if (summaries.size < summaries_max) summaries.set(text, summary);
  return summary;
}

function summaryOf(text: string): string {
  const written: readonly (string | undefined)[] = writes.exec(text) ?? [];
  const [operation, table] = written.slice(1).filter((part) => part !== undefined);
  if (operation !== undefined) return `${operation.toUpperCase()} ${table}`;
  const first = /^\s*([a-z]+)/i.exec(text)?.[1]?.toUpperCase() ?? "SQL";
  if (first !== "SELECT" && first !== "WITH") return first;
  const [, from, called] = reads.exec(text) ?? [];
  const target = from ?? called;
  return target === undefined ? "SELECT" : `SELECT ${target}`;
}
