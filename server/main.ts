// The composition root: settings, database, schema, demo, server, worker and a graceful stop.
import { mkdir } from "node:fs/promises";
import { saveLastUses } from "./accounts/tokens/save-last-uses.ts";
import { openApiApp } from "./api/api-app.ts";
import { buildHttpServer } from "./api/http-server.ts";
import { openWaitingServer, type WaitingServer } from "./api/waiting-server.ts";
import { openWebhookReceiver } from "./chat/inbound/webhook-receiver.ts";
import { openConsole } from "./console/open-console.ts";
import { ConfigError, readConfig, type Config } from "./config.ts";
import { openAiAgentDrivers } from "./drivers/ai-agent/open-ai-agent-drivers.ts";
import { openMetaAccess } from "./drivers/chat/meta/open-meta-driver.ts";
import { openSandboxDriver } from "./drivers/chat/sandbox/open-sandbox-driver.ts";
import { openSmtp } from "./drivers/mail/open-smtp.ts";
import { openSpeech } from "./drivers/speech/open-speech.ts";
import { openAsteriskDriver } from "./drivers/voice/asterisk/open-asterisk-driver.ts";
import { openSandboxVoiceDriver } from "./drivers/voice/sandbox/open-sandbox-driver.ts";
import { openIdentityCheck, recognizeDatabase } from "./engine/database-identity.ts";
import { openNotifications } from "./engine/notifications.ts";
import type { App } from "./engine/app.ts";
import { systemClock } from "./lib/clock.ts";
import { systemRandom } from "./lib/random.ts";
import { openDatabase } from "./lib/database/database.ts";
import { isDatabaseUnavailable } from "./lib/database/database-errors.ts";
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from "./embedded-postgres/start-embedded-postgres.ts";
import { keyReader, secretKeySource } from "./lib/secrets/secret-keys.ts";
import { openSecrets, SecretError } from "./lib/secrets/secrets.ts";
import { requireKeys, sealStoredSecrets } from "./lib/secrets/stored-secrets.ts";
import { openLog, type Log } from "./lib/log.ts";
import { openOutgoingHttp } from "./lib/outgoing/open-outgoing-http.ts";
import { useTracing } from "./lib/tracing/tracing.ts";
import { migrate } from "./lib/database/migrate.ts";
import { MigrationError } from "./lib/database/migration-error.ts";
import { openReadReplica, type ReadReplica } from "./lib/database/read-replica.ts";
import { PoolerError } from "./lib/database/require-sessions.ts";
import { waitForDatabase } from "./lib/database/wait-for-database.ts";
import { proxyProblem } from "./api/proxy-problem.ts";
import { readDemo } from "./seed-demo/demo-file.ts";
import { linkToDemo } from "./seed-demo/link-to-demo.ts";
import { seedDemo } from "./seed-demo/seed-demo.ts";
import { startWorkerOnceConfirmed, workerSettings } from "./worker.ts";
import { printWelcome } from "./print-welcome.ts";

/** Time limit of a stop; work still in flight is then refused or rolled back. */
const stop_ms = 9_000;

/** Stops the server and the worker, all at once: a request that never ends must not keep a sender running. */
const ends: (() => Promise<unknown>)[] = [];
/** Closes resources after that, newest first. */
const stops: (() => Promise<unknown>)[] = [];

const restored_advice =
  "the database was restored or failed over and may not know what was sent last; no message is sent and no call " +
  'placed until an operator runs "trunkline restored" (docs/guides/operation.md)';

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
  const database_url = config.database_url ?? (await startDatabase(config, log));
  await migrateWhenAvailable(config, database_url, log);
  const check = openIdentityCheck(() => exitOnChangedDatabase(log));
  const db = openDatabase(database_url, log, { check });
  stops.unshift(() => db.close());
  const secrets = openSecrets(keyReader(secretKeySource(config)));
  // The database may restart at any time.
  const patiently = <T>(work: () => Promise<T>) => waitForDatabase(log, work, async () => {});
  if (await patiently(() => recognizeDatabase(db, systemClock.now()))) log.error(restored_advice);
  await patiently(() => requireKeys(db, secrets));
  // Seals secrets that an older version stored in plain text.
  await patiently(() => sealStoredSecrets(db, secrets));
  const notifications = openNotifications(database_url, log);
  stops.unshift(() => notifications.close());
  const sandbox = openSandboxDriver({
    // Sandbox webhooks take the same path as a provider's.
    deliver: (webhook) =>
      void receiver
        .take("sandbox", JSON.stringify(webhook))
        .catch((err: unknown) => log.warn({ err }, "a sandbox webhook was lost")),
  });
  const whatsappAccess = openMetaAccess({ api_url: config.whatsapp_api_url });
  const whatsapp = config.whatsapp && {
    ...whatsappAccess.driverWith(config.whatsapp.access_token),
    ...whatsappAccess.guardWith(config.whatsapp),
  };
  const chatDrivers = { sandbox, whatsappAccess, ...(whatsapp ? { whatsapp } : {}) };
  const voiceSandbox = openSandboxVoiceDriver();
  const voiceDrivers = { sandbox: voiceSandbox, asterisk: openAsteriskDriver(log) };
  const speech = openSpeech(config);
  const aiAgentDrivers = openAiAgentDrivers(config.realtime, speech, log);
  const drivers = { chatDrivers, voiceDrivers, aiAgentDrivers, speech };
  const outgoing = openOutgoingHttp(config.callback_allow);
  stops.unshift(() => outgoing.close());
  const app: App = {
    db,
    clock: systemClock,
    random: systemRandom,
    log,
    notifications,
    outgoing,
    secrets,
    ...drivers,
  };
  const receiver = openWebhookReceiver(app);
  stops.unshift(() => sandbox.close());
  stops.unshift(() => voiceSandbox.close());
  stops.unshift(() => whatsappAccess.close());
  const seeded =
    config.seed === "demo" &&
    (await seedDemo(db, config.data_dir, config.public_url, app.clock.now())) !== null;
  // Start the server first: compiling its validators blocks the event loop for seconds, which would
  // time out the worker's connections.
  if (config.roles.includes("api")) await serve(config, app);
  if (config.roles.includes("worker")) {
    const work = startWorkerOnceConfirmed(app, workerSettings(config));
    ends.push(() => work.stop());
  }
  if (config.roles.includes("api")) await welcome(config, app, seeded);
}

async function welcome(config: Config, { db, clock }: App, seeded: boolean): Promise<void> {
  const demo = config.seed === "demo" ? await readDemo(config.data_dir) : null;
  const sign_in_path = demo && (await linkToDemo(db, demo, clock.now()));
  printWelcome(config, demo, { seeded, sign_in_path });
}

async function startTracing(settings: NonNullable<Config["tracing"]>, log: Log): Promise<void> {
  const { openTracing } = await import("./lib/tracing/open-tracing.ts");
  const tracing = openTracing(settings, log);
  useTracing(tracing);
  stops.unshift(() => tracing.close());
}

async function startDatabase(config: Config, log: Log): Promise<string> {
  await mkdir(config.data_dir, { recursive: true });
  const postgres = await startEmbeddedPostgres({
    dataDir: config.data_dir,
    log: (line) => log.info(line),
  });
  stops.unshift(() => postgres.stop());
  return postgres.url;
}

/** Waits for the database and long migrations; an API process reports meanwhile that it is not ready. */
async function migrateWhenAvailable(config: Config, url: string, log: Log): Promise<void> {
  let waiting: Promise<WaitingServer> | undefined;
  const answerMeanwhile = async () => {
    if (!config.roles.includes("api")) return;
    if (!waiting) {
      waiting = openWaitingServer(config);
      ends.push(async () => (await waiting)?.close());
    }
    await waiting;
  };
  const report = (line: string) => {
    log.info(line);
    answerMeanwhile().catch(() => {}); // Awaited below.
  };
  await waitForDatabase(log, () => migrate(url, { report }), answerMeanwhile);
  await (await waiting)?.close();
}

async function serve(config: Config, app: App): Promise<void> {
  const { metrics_token, public_url, smtp, oidc, trusted_proxies } = config;
  const problem = proxyProblem(config);
  if (problem !== null) app.log.warn(problem);
  const replica = openReplica(config.replica, app);
  const api = openApiApp(app, {
    metrics_token,
    public_url,
    replica,
    mail: smtp && openSmtp(smtp),
    oidc: oidc && (await import("./drivers/oidc/open-oidc.ts")).openOidc(oidc),
  });
  stops.unshift(saveLastUses(api.tokens, app.log));
  stops.unshift(() => api.mailer.close());
  const console = openConsole(config.data_dir, app.log);
  ends.push(() => console.close());
  const server = await buildHttpServer(api, { console, trusted_proxies });
  ends.push(() => server.close());
  await server.listen({ host: config.host, port: config.port });
}

function openReplica(settings: Config["replica"], { db, log }: App): ReadReplica | null {
  if (settings === null) return null;
  const replica = openReadReplica(db, settings.url, settings.staleness_seconds * 1_000, log);
  stops.unshift(() => replica.close());
  return replica;
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
  const stop = async (signal: NodeJS.Signals) => {
    // Ctrl-C arrives twice: from the terminal and from npm.
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping");
    setTimeout(() => exitUnfinished(log), stop_ms).unref();
    await stopAll((err) => log.error({ err }, "a component did not stop cleanly"));
    process.exit(0);
  };
  process.on("SIGTERM", (signal) => void stop(signal));
  process.on("SIGINT", (signal) => void stop(signal));
}

function exitUnfinished(log: Log): void {
  log.error(`the stop took longer than ${stop_ms / 1_000} s; what was in flight is given up`);
  process.exit(1);
}

async function stopAll(onError: (err: unknown) => void): Promise<void> {
  await Promise.all(ends.map((end) => end().catch(onError)));
  for (const undo of stops) await undo().catch(onError);
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
