import { pino, type Logger } from "pino";
import { prettyFactory } from "pino-pretty";

export type Log = Logger;

/**
 * The only fields that reach the log. A list of what may be written, because a list of what may
 * not (redact paths) misses the secret that sits one level deeper. No field holds personal data.
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
  "status",
  "subject_id",
  "trunk_id",
  "url",
]);

/**
 * JSON lines, or a readable form on a terminal. Fields that are not on the allow-list are dropped;
 * of an error its type, code, message and stack remain, of a message text everything.
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

/** PostgreSQL puts the offending row into `detail`, so only these parts of an error are written. */
function describeError(value: unknown): unknown {
  if (!(value instanceof Error)) return { message: "a value that is no Error was thrown" };
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

/** Of SQLSTATE class 22 (data exceptions) also the message quotes the value: `…: "Ada Lovelace"`. */
function withoutData(message: string, code: unknown): string {
  if (typeof code !== "string" || !/^22[0-9A-Z]{3}$/.test(code)) return message;
  return message.replaceAll(/".*"/gs, '"…"');
}
