import { pino, type Logger } from "pino";
import { prettyFactory } from "pino-pretty";
import { traceFields } from "./tracing/tracing.ts";

export type Log = Logger;

/**
 * The only fields that are logged. An allow-list, because a deny-list (redaction paths) misses secrets that are
 * nested deeper. No field contains personal data.
 */
const allowed = new Set([
  "account_id",
  "attempt",
  "code",
  "count",
  "campaign_id",
  "database",
  "duration_ms",
  "job_id",
  "level",
  "method",
  "migration",
  "pid",
  "port",
  "request_id",
  "role",
  "route",
  "signal",
  "span_id",
  "status",
  "subject_id",
  "trace_id",
  "trunk_id",
  "url",
]);

/**
 * Opens a log of JSON lines, or readable lines on a terminal. Fields outside the allow-list are dropped; errors
 * keep type, code, message and stack; message texts are kept in full. Lines within a span carry its IDs.
 */
export function openLog(level: string, options: { readable?: boolean } = {}): Log {
  const readable = options.readable ?? process.stdout.isTTY;
  const destination = readable
    ? { write: (line: string) => void process.stdout.write(pretty(line)) }
    : undefined;
  const settings = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    mixin: () => traceFields() ?? {},
    serializers: { err: describeError },
    formatters: {
      level: (label: string) => ({ level: label }),
      log: keepAllowed,
    },
  };
  return destination ? pino(settings, destination) : pino(settings);
}

const pretty = prettyFactory({ colorize: true, translateTime: "SYS:HH:MM:ss", singleLine: true });

function keepAllowed(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "err") kept["err"] = value;
    else if (allowed.has(name) && (typeof value !== "object" || value === null)) kept[name] = value;
  }
  return kept;
}

/** Keeps only these parts of an error, because PostgreSQL puts the offending row into `detail`. */
function describeError(value: unknown): unknown {
  if (!(value instanceof Error)) return { message: "the thrown value is not an Error" };
  const code = (value as { code?: unknown }).code;
  const message = withoutData(value.message, code);
  return {
    type: value.name,
    ...(typeof code === "string" ? { code } : {}),
    message,
    stack: value.stack?.replace(value.message, () => message),
    ...(value.cause instanceof Error ? { cause: describeError(value.cause) } : {}),
  };
}

/** In SQLSTATE class 22 (data exceptions), the message also quotes the value: `…: "Ada Lovelace"`. */
function withoutData(message: string, code: unknown): string {
  if (typeof code !== "string" || !/^22[0-9A-Z]{3}$/.test(code)) return message;
  return message.replaceAll(/".*"/gs, '"…"');
}
