// The composition of the service: schema, secrets, drivers, demo, server and worker.
import { saveLastUses } from "./accounts/tokens/save-last-uses.ts";
import { openApiApp, type ApiApp } from "./api/api-app.ts";
import { buildHttpServer } from "./api/http-server.ts";
import { proxyProblem } from "./api/proxy-problem.ts";
import { openWaitingServer, type WaitingServer } from "./api/waiting-server.ts";
import { openWebhookReceiver } from "./chat/inbound/webhook-receiver.ts";
import type { Config } from "./config.ts";
import { openConsole } from "./console/open-console.ts";
import { openAiAgentDrivers } from "./drivers/ai-agent/open-ai-agent-drivers.ts";
import { openMetaAccess } from "./drivers/chat/meta/open-meta-driver.ts";
import { openSandboxDriver } from "./drivers/chat/sandbox/open-sandbox-driver.ts";
import { openSmtp } from "./drivers/mail/open-smtp.ts";
import { openSpeech } from "./drivers/speech/open-speech.ts";
import { openAsteriskDriver } from "./drivers/voice/asterisk/open-asterisk-driver.ts";
import { openSandboxVoiceDriver } from "./drivers/voice/sandbox/open-sandbox-driver.ts";
import type { App } from "./engine/app.ts";
import { openIdentityCheck, recognizeDatabase } from "./engine/database-identity.ts";
import { openNotifications } from "./engine/notifications.ts";
import { systemClock } from "./lib/clock.ts";
import { openDatabase } from "./lib/database/database.ts";
import { migrate } from "./lib/database/migrate.ts";
import { openReadReplica, type ReadReplica } from "./lib/database/read-replica.ts";
import { waitForDatabase } from "./lib/database/wait-for-database.ts";
import type { Log } from "./lib/log.ts";
import { openOutgoingHttp } from "./lib/outgoing/open-outgoing-http.ts";
import { systemRandom } from "./lib/random.ts";
import { keyReader, secretKeySource } from "./lib/secrets/secret-keys.ts";
import { openSecrets } from "./lib/secrets/secrets.ts";
import { requireKeys, sealStoredSecrets } from "./lib/secrets/stored-secrets.ts";
import { printWelcome } from "./print-welcome.ts";
import { readDemo } from "./seed-demo/demo-file.ts";
import { linkToDemo } from "./seed-demo/link-to-demo.ts";
import { seedDemo } from "./seed-demo/seed-demo.ts";
import { startWorkerOnceConfirmed, workerSettings } from "./worker.ts";

/** What a stop of the process does. */
export type Stop = {
  /** Stops the server and the worker, all at once: a request that never ends must not keep a sender running. */
  readonly ends: (() => Promise<unknown>)[];
  /** Closes resources after that, newest first. */
  readonly closes: (() => Promise<unknown>)[];
};

/** The process that the service runs in. */
export type Host = {
  readonly config: Config;
  readonly log: Log;
  readonly stop: Stop;
  /** Called when the database was restored or failed over while the process ran. */
  readonly onChangedDatabase: () => void;
};

const restored_advice =
  "the database was restored or failed over and may not know what was sent last; no message is sent and no call " +
  'placed until an operator runs "trunkline restored" (docs/guides/operation.md)';

/** Migrates the database and runs the process's roles on it. Adds to `stop` what it opens, also when it throws. */
export async function runService(host: Host, database_url: string): Promise<void> {
  const { config, log, stop } = host;
  await migrateWhenAvailable(host, database_url);
  const check = openIdentityCheck(host.onChangedDatabase);
  const db = openDatabase(database_url, log, { check });
  stop.closes.unshift(() => db.close());
  const secrets = openSecrets(keyReader(secretKeySource(config)));
  // The database may restart at any time.
  const patiently = <T>(work: () => Promise<T>) => waitForDatabase(log, work, async () => {});
  if (await patiently(() => recognizeDatabase(db, systemClock.now()))) log.error(restored_advice);
  await patiently(() => requireKeys(db, secrets));
  // Seals secrets that an older version stored in plain text.
  await patiently(() => sealStoredSecrets(db, secrets));
  const notifications = openNotifications(database_url, log);
  stop.closes.unshift(() => notifications.close());
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
  stop.closes.unshift(() => outgoing.close());
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
  stop.closes.unshift(() => sandbox.close());
  stop.closes.unshift(() => voiceSandbox.close());
  stop.closes.unshift(() => whatsappAccess.close());
  const seeded =
    config.seed === "demo" &&
    (await seedDemo(db, config.data_dir, config.public_url, app.clock.now())) !== null;
  // Start the server first: compiling its validators blocks the event loop for seconds, which would
  // time out the worker's connections.
  // A worker beside the API counts into its metrics.
  const running = config.roles.includes("api") ? await serve(host, app) : app;
  if (config.roles.includes("worker")) {
    const work = startWorkerOnceConfirmed(running, workerSettings(config));
    stop.ends.push(() => work.stop());
  }
  if (config.roles.includes("api")) await welcome(config, app, seeded);
}

async function welcome(config: Config, { db, clock }: App, seeded: boolean): Promise<void> {
  const demo = config.seed === "demo" ? await readDemo(config.data_dir) : null;
  const sign_in_path = demo && (await linkToDemo(db, demo, clock.now()));
  printWelcome(config, demo, { seeded, sign_in_path });
}

/** Waits for the database and long migrations; an API process reports meanwhile that it is not ready. */
async function migrateWhenAvailable({ config, log, stop }: Host, url: string): Promise<void> {
  let waiting: Promise<WaitingServer> | undefined;
  const answerMeanwhile = async () => {
    if (!config.roles.includes("api")) return;
    if (!waiting) {
      waiting = openWaitingServer(config);
      stop.ends.push(async () => (await waiting)?.close());
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

async function serve({ config, stop }: Host, app: App): Promise<ApiApp> {
  const { metrics_token, public_url, smtp, oidc, trusted_proxies } = config;
  const problem = proxyProblem(config);
  if (problem !== null) app.log.warn(problem);
  const replica = openReplica(config.replica, stop, app);
  const api = openApiApp(app, {
    metrics_token,
    public_url,
    replica,
    mail: smtp && openSmtp(smtp),
    oidc: oidc && (await import("./drivers/oidc/open-oidc.ts")).openOidc(oidc),
  });
  stop.closes.unshift(saveLastUses(api.tokens, app.log));
  stop.closes.unshift(() => api.mailer.close());
  const console = openConsole(config.data_dir, app.log);
  stop.ends.push(() => console.close());
  const server = await buildHttpServer(api, { console, trusted_proxies });
  stop.ends.push(() => server.close());
  await server.listen({ host: config.host, port: config.port });
  return api;
}

function openReplica(
  settings: Config["replica"],
  stop: Stop,
  { db, log }: App,
): ReadReplica | null {
  if (settings === null) return null;
  const replica = openReadReplica(db, settings.url, settings.staleness_seconds * 1_000, log);
  stop.closes.unshift(() => replica.close());
  return replica;
}
