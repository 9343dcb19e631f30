// The process: settings, the embedded database, the service and a graceful stop.
import { mkdir } from "node:fs/promises";
import { ConfigError, readConfig, type Config } from "./config.ts";
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from "./embedded-postgres/start-embedded-postgres.ts";
import { isDatabaseUnavailable } from "./lib/database/database-errors.ts";
import { MigrationError } from "./lib/database/migration-error.ts";
import { PoolerError } from "./lib/database/require-sessions.ts";
import { openLog, type Log } from "./lib/log.ts";
import { SecretError } from "./lib/secrets/secrets.ts";
import { useTracing } from "./lib/tracing/tracing.ts";
import type { Stop } from "./service.ts";

/** Time limit of a stop; work still in flight is then refused or rolled back. */
const stop_ms = 9_000;

const stop: Stop = { ends: [], closes: [] };

try {
  await start(readConfig(process.env));
} catch (error) {
  console.error(explain(error));
  await stopAll(() => {});
  process.exit(1);
}

async function start(config: Config): Promise<void> {
  const log = openLog(config.log_level);
  stopOnSignals(log);
  // First, so that connections and routes are traced; its last spans are sent when all else has stopped.
  if (config.tracing) await startTracing(config.tracing, log);
  const [{ runService }, database_url] = await Promise.all([
    // Its modules load while PostgreSQL starts.
    import("./service.ts"),
    config.database_url ?? startDatabase(config, log),
  ]);
  await runService(
    { config, log, stop, onChangedDatabase: () => exitOnChangedDatabase(log) },
    database_url,
  );
}

async function startTracing(settings: NonNullable<Config["tracing"]>, log: Log): Promise<void> {
  const { openTracing } = await import("./lib/tracing/open-tracing.ts");
  const tracing = openTracing(settings, log);
  useTracing(tracing);
  stop.closes.unshift(() => tracing.close());
}

async function startDatabase(config: Config, log: Log): Promise<string> {
  await mkdir(config.data_dir, { recursive: true });
  const postgres = await startEmbeddedPostgres({
    dataDir: config.data_dir,
    log: (line) => log.info(line),
  });
  stop.closes.unshift(() => postgres.stop());
  return postgres.url;
}

/**
 * Ends the process at once: what it has cached and has in flight belongs to the database before, and none of it can be
 * stored. A supervisor starts it again.
 */
function exitOnChangedDatabase(log: Log): void {
  log.error("the database was restored or failed over while this process ran; it exits");
  process.exit(1);
}

/** Finishes requests in flight, refuses new ones and exits within 10 s. */
function stopOnSignals(log: Log): void {
  let stopping = false;
  const exit = async (signal: NodeJS.Signals) => {
    // Ctrl-C arrives twice: from the terminal and from npm.
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping");
    setTimeout(() => exitUnfinished(log), stop_ms).unref();
    await stopAll((err) => log.error({ err }, "a component did not stop cleanly"));
    process.exit(0);
  };
  process.on("SIGTERM", (signal) => void exit(signal));
  process.on("SIGINT", (signal) => void exit(signal));
}

function exitUnfinished(log: Log): void {
  log.error(`the stop took longer than ${stop_ms / 1_000} s; what was in flight is given up`);
  process.exit(1);
}

async function stopAll(onError: (err: unknown) => void): Promise<void> {
  await Promise.all(stop.ends.map((end) => end().catch(onError)));
  for (const undo of stop.closes) await undo().catch(onError);
}

/** Returns a message for expected start-up failures, and the whole error for unexpected ones. */
function explain(error: unknown): unknown {
  if (
    error instanceof ConfigError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationError ||
    error instanceof SecretError
  ) {
    return error.message;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof PoolerError) return `DATABASE_URL: ${message}`;
  if (code === "EADDRINUSE" || code === "EACCES")
    return `HOST and PORT: cannot listen on this address (${message})`;
  if (isDatabaseUnavailable(error))
    return `DATABASE_URL: the database cannot be reached (${message})`;
  return error;
}
