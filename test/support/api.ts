// Starts the API in this process on its own database and sends real HTTP requests.
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { openApiApp, type ApiApp } from "../../server/api/api-app.ts";
import { buildHttpServer, type HttpOptions } from "../../server/api/http-server.ts";
import type { ChatDrivers } from "../../server/drivers/chat/driver.ts";
import type { AiAgentDrivers } from "../../server/drivers/ai-agent/driver.ts";
import type { MailDriver } from "../../server/drivers/mail/driver.ts";
import type { OidcProvider } from "../../server/drivers/oidc/driver.ts";
import type { SpeechDriver } from "../../server/drivers/speech/driver.ts";
import type { VoiceDrivers } from "../../server/drivers/voice/driver.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openReadReplica } from "../../server/lib/database/read-replica.ts";
import { openScriptedDriver } from "../../server/drivers/ai-agent/scripted/open-scripted-driver.ts";
import { openLog } from "../../server/lib/log.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openOutgoingHttp } from "../../server/lib/outgoing/open-outgoing-http.ts";
import type { Secrets } from "../../server/lib/secrets/secrets.ts";
import { cloneDatabase } from "./database.ts";
import { testClock, type TestClock } from "./clock.ts";
import { toneSpeech } from "./tone-speech.ts";
import { sandboxStub, voiceSandboxStub } from "./sandbox-stub.ts";
import { testSecrets } from "./secrets.ts";

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON, or undefined. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read responses of every shape
  readonly body: any;
};

export type RequestOptions = {
  readonly token?: string | undefined;
  readonly headers?: Record<string, string>;
  /** The body as it is sent, instead of `json`. */
  readonly raw?: string | Buffer | FormData;
  readonly json?: unknown;
};

export type TestApi = {
  readonly app: ApiApp;
  readonly server: FastifyInstance;
  readonly clock: TestClock;
  readonly url: string;
  readonly database_url: string;
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  close(): Promise<void>;
};

/** Starts the API; close it in `after`. `databaseUrl` shares another API's database. */
export async function startApi(
  options: HttpOptions & {
    databaseUrl?: string;
    chatDrivers?: ChatDrivers;
    voiceDrivers?: VoiceDrivers;
    aiAgentDrivers?: AiAgentDrivers;
    speech?: SpeechDriver;
    callbackAllow?: readonly string[];
    metricsToken?: string;
    mail?: MailDriver;
    oidc?: OidcProvider;
    secrets?: Secrets;
    /** A replica of the database. */
    replica?: { readonly url: string; readonly staleness_ms_max: number };
  } = {},
): Promise<TestApi> {
  const database = options.databaseUrl ? null : await cloneDatabase();
  const database_url = options.databaseUrl ?? database!.url;
  const log = openLog(process.env["TEST_LOG_LEVEL"] ?? "silent", { readable: false });
  const db = openDatabase(database_url, log);
  // On a busy machine a test waits where a client would get 503.
  db.pool.options.connectionTimeoutMillis = 120_000;
  const notifications = openNotifications(database_url, log);
  const clock = testClock();
  const chatDrivers = options.chatDrivers ?? { sandbox: sandboxStub };
  const voiceDrivers = options.voiceDrivers ?? { sandbox: voiceSandboxStub };
  const speech = options.speech ?? toneSpeech;
  // Callback receivers of tests listen on this machine.
  const outgoing = openOutgoingHttp(options.callbackAllow ?? ["127.0.0.1"]);
  const parts = {
    db,
    clock,
    random: systemRandom,
    log,
    notifications,
    chatDrivers,
    voiceDrivers,
    aiAgentDrivers: options.aiAgentDrivers ?? { scripted: openScriptedDriver({ speech }) },
    speech,
    outgoing,
    secrets: options.secrets ?? testSecrets,
  };
  const replica = options.replica
    ? openReadReplica(db, options.replica.url, options.replica.staleness_ms_max, log)
    : null;
  const app = openApiApp(parts, {
    replica,
    metrics_token: options.metricsToken ?? null,
    public_url: "https://trunkline.example",
    mail: options.mail ?? null,
    oidc: options.oidc ?? null,
  });
  const server = await buildHttpServer(app, options);
  await server.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return {
    app,
    server,
    clock,
    url,
    database_url,
    send: (method, path, request) => send(url, method, path, request),
    async close() {
      await server.close();
      await app.mailer.close();
      await notifications.close();
      await outgoing.close();
      await replica?.close();
      await db.close();
      await database?.drop();
    },
  };
}

/** Sends one request to a server at `url`. */
export async function send(
  url: string,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const headers = new Headers(options.headers);
  if (options.token !== undefined) headers.set("authorization", `Bearer ${options.token}`);
  const body =
    options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
  if (options.json !== undefined && !headers.has("content-type"))
    headers.set("content-type", "application/json");
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as NonNullable<RequestInit["body"]> }),
  });
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const text = isStream ? await readOpening(response) : await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text ? JSON.parse(text) : undefined,
  };
}

/** Returns the first chunk of an endless response and cancels it. */
async function readOpening({ body }: Response): Promise<string> {
  const reader = body!.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new TextDecoder().decode(value);
}
