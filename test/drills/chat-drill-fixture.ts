// A fixture that sends chat campaigns with real parts: the provider stub, an API process and worker
// processes, one database. Drills disrupt it by signals.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { send, type Answer } from "../support/api.ts";
import { checkCampaigns, checkLedger } from "../support/check-invariants.ts";
import { cloneDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { makeAccount, makeCredits, type TestAccount } from "../support/account-factory.ts";
import type { InjectedError } from "../support/provider-stub/injected-errors.ts";
import type { LogEntry, Repeated } from "../support/provider-stub/received-log.ts";
import {
  default_settings,
  stub_number,
  type StubSettings,
} from "../support/provider-stub/settings.ts";
import type { StubCounts } from "../support/provider-stub/start-provider-stub.ts";
import type { LoadBalancer } from "../support/load-balancer.ts";
import { spawnService, startService, type ServiceProcess } from "../support/service-process.ts";

/** The provider stub as a process; its control.ts describes the control requests. */
export type StubProcess = {
  readonly url: string;
  control<T = unknown>(method: "GET" | "POST", path: string, json?: unknown): Promise<T>;
  setErrors(errors: readonly InjectedError[], seed?: number): Promise<void>;
  counts(): Promise<StubCounts>;
  /** Returns every request it received, in order. */
  log(): Promise<LogEntry[]>;
  close(): Promise<void>;
};

export type Worker = ServiceProcess & { readonly name: string; isAlive(): boolean };

export type ChatDrillFixture = {
  readonly database_url: string;
  readonly stub: StubProcess;
  readonly api: ServiceProcess;
  readonly account: TestAccount;
  readonly number_id: number;
  readonly template_id: number;
  /** Whether the stub posts webhooks. */
  readonly posts_webhooks: boolean;
  /** Starts another API process, which ends with the fixture. */
  startApi(): Promise<ServiceProcess>;
  /** Spawns a worker, perhaps of the version in another folder; does not wait until it is ready. */
  startWorker(version?: string): Promise<Worker>;
  /** Returns the workers that have started: they have more connections than the one they migrate with. */
  findWorking(workers: readonly Worker[]): Promise<Worker[]>;
  /** Returns the worker that sent within the last second, by its connections' statements; null if none did. */
  findSender(workers: readonly Worker[]): Promise<Worker | null>;
  /** Sets the number's rate of messages per second. */
  setRate(per_second: number): Promise<void>;
  /** Sends a request as the account; throws unless the status is 2xx. */
  request(method: string, path: string, json?: unknown): Promise<Answer>;
  /** Creates a campaign over HTTP with the fixture's number and template; returns its ID. */
  createCampaign(phones: readonly string[]): Promise<number>;
  /** Runs a query on a new connection. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  awaitStatus(campaignId: number, status: string): Promise<void>;
  /** Waits until every webhook has been posted and applied. */
  awaitWebhooks(): Promise<void>;
  /** Counts the campaign's recipients by state. */
  states(campaignId: number): Promise<Record<string, number>>;
  /** Checks the invariants of chat in the database, or a copy of it, and at the provider: see checkProvider. */
  checkInvariants(checked_url?: string): Promise<void>;
  /** Returns the output of workers that exited without SIGKILL or SIGTERM. */
  crashes(): string[];
  /** Ends every process and prints the output of crashed workers. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** For a whole campaign and its delivery statuses on a busy machine. */
const deadline_s = 180;

export const template_name = "spring_sale";
export const campaigns_path = "/api/v1/chat/campaigns";

/** Returns `count` different phone numbers, from number `from` on, so that campaigns do not share any. */
export function phonesOf(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `9198${String(from + i).padStart(8, "0")}`);
}

/**
 * Starts the stub and the API and creates an account with credit, a number at the stub and an approved
 * template. `env` goes to every process of the service. With a load balancer, requests and webhooks go through it.
 */
export async function openChatDrillFixture(
  options: {
    database_url?: string;
    stub?: Partial<StubSettings>;
    env?: Record<string, string>;
    rate_per_second?: number;
    balancer?: LoadBalancer;
    /** The folder of the version of the first API process. */
    version?: string;
    /** Returns an account with credit, if the fixture is not to create it. */
    account?: (api: ServiceProcess) => Promise<TestAccount>;
  } = {},
): Promise<ChatDrillFixture> {
  const database = options.database_url ? null : await cloneDatabase();
  const database_url = options.database_url ?? database!.url;
  const stub = await startStub({ template_status: "APPROVED", ...options.stub });
  const env = {
    WHATSAPP_API_URL: `${stub.url}/v23.0`,
    WHATSAPP_ACCESS_TOKEN: default_settings.access_token,
    WHATSAPP_APP_SECRET: default_settings.app_secret,
    WHATSAPP_VERIFY_TOKEN: "verify",
    TRUNKLINE_SEED: "none",
    ...options.env,
  };
  const apis: ServiceProcess[] = [];
  const startApi = async (version?: string) => {
    const started_api = await startService(
      { ...env, ROLES: "api", DATABASE_URL: database_url },
      version,
    );
    apis.push(started_api);
    options.balancer?.add(started_api.url);
    return started_api;
  };
  const api = await startApi(options.version);
  const url = options.balancer?.url ?? api.url;
  const posts_webhooks = options.stub?.callback_url !== null;
  if (posts_webhooks)
    await stub.control("POST", "settings", { callback_url: `${url}/hooks/whatsapp` });
  const account = await (options.account?.(api) ?? openAccount(database_url));
  const query = openQuery(database_url);
  let started = 0;
  const workers: (Worker & { isCrashed(): boolean })[] = [];

  const request = async (method: string, path: string, json?: unknown) => {
    const headers = { "idempotency-key": `drill-${Math.random()}` };
    const body = json === undefined ? {} : { json };
    const answer = await send(url, method, path, { token: account.token, headers, ...body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const startWorker = async (version?: string) => {
    const name = `worker-${++started}`;
    const service = await spawnService(
      { ...env, ROLES: "worker", DATABASE_URL: `${database_url}?application_name=${name}` },
      version,
    );
    const isAlive = () => service.child.exitCode === null && service.child.signalCode === null;
    let isStopRequested = false;
    const kill = (signal: NodeJS.Signals) => {
      isStopRequested ||= signal === "SIGKILL" || signal === "SIGTERM";
      service.kill(signal);
    };
    const worker = {
      ...service,
      name,
      isAlive,
      kill,
      isCrashed: () => !isAlive() && !isStopRequested,
    };
    workers.push(worker);
    return worker;
  };
  const number = await request("POST", "/api/v1/chat/numbers", {
    name: "Drill",
    phone_number: "+91 98765 00000",
    driver: "whatsapp",
    provider_phone_number_id: stub_number.phone_number_id,
    business_account_id: stub_number.business_account_id,
    rate_per_second: options.rate_per_second ?? 80,
  });
  const template_id = await fetchTemplate(stub, request, number.body.id);
  const fixture: ChatDrillFixture = {
    database_url,
    stub,
    api,
    account,
    number_id: number.body.id,
    template_id,
    posts_webhooks,
    startApi: () => startApi(),
    startWorker,
    async setRate(rate_per_second) {
      await request("PATCH", `/api/v1/chat/numbers/${number.body.id}`, { rate_per_second });
    },
    request,
    query,
    async findWorking(among) {
      const rows = await query<{ name: string }>(
        `select application_name as name from pg_stat_activity
         where datname = current_database() group by 1 having count(*) > 1`,
      );
      const names = new Set(rows.map(({ name }) => name));
      return among.filter(({ name }) => names.has(name));
    },
    async findSender(among) {
      const rows = await query<{ application_name: string }>(
        `select application_name from pg_stat_activity
         where datname = current_database() and query like '%record_and_claim_messages%' and pid <> pg_backend_pid()
           and application_name = any ($1) and query_start > clock_timestamp() - interval '1 s'
         order by query_start desc limit 1`,
        [among.filter((one) => one.isAlive()).map(({ name }) => name)],
      );
      return among.find(({ name }) => name === rows[0]?.application_name) ?? null;
    },
    async createCampaign(phones) {
      const answer = await request("POST", campaigns_path, {
        name: "Drill",
        chat_number_id: number.body.id,
        template_id,
        contacts: phones.map((phone_number) => ({ phone_number, variables: { "1": "Ada" } })),
      });
      return answer.body.id as number;
    },
    async awaitStatus(campaignId, status) {
      let seen = "";
      const isReached = async () => {
        const answer = await request("GET", `${campaigns_path}/${campaignId}`);
        seen = JSON.stringify(answer.body);
        return answer.body.status === status;
      };
      await eventually(isReached, deadline_s).catch((error: unknown) => {
        throw new Error(`the campaign is not ${status}: ${seen}`, { cause: error });
      });
    },
    async awaitWebhooks() {
      await eventually(async () => {
        const { webhooks } = await stub.counts();
        if (webhooks.waiting > 0) return false;
        return (await query("select from chat_inbox limit 1")).length === 0;
      }, deadline_s);
    },
    async states(campaignId) {
      const rows = await query<{ state: string; count: number }>(
        "select state, count(*)::int from chat_recipients where campaign_id = $1 group by 1 order by 1",
        [campaignId],
      );
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
    async checkInvariants(checked_url = database_url) {
      const client = new pg.Client({ connectionString: checked_url });
      await client.connect();
      try {
        await checkLedger(client);
        await checkCampaigns(client);
      } finally {
        await client.end();
      }
      await checkProvider(fixture);
    },
    crashes: () =>
      workers.flatMap((one) => (one.isCrashed() ? `${one.name}: ${one.output()}` : [])),
    async [Symbol.asyncDispose]() {
      for (const crash of fixture.crashes()) console.error(crash);
      await Promise.all(workers.map((worker) => worker.dispose()));
      await Promise.all(apis.map((each) => each.dispose()));
      await stub.close();
      await database?.drop();
    },
  };
  return fixture;
}

async function startStub(settings: Partial<StubSettings>): Promise<StubProcess> {
  const main = join(import.meta.dirname, "../support/provider-stub/main.ts");
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [main], {
    env: { PATH, NODE_COMPILE_CACHE, STUB_SETTINGS: JSON.stringify(settings) },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const url = line.replace("listening ", "");
  const control = async <T>(method: "GET" | "POST", path: string, json?: unknown): Promise<T> => {
    const answer = await send(url, method, `/_stub/${path}`, json === undefined ? {} : { json });
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.body as T;
  };
  return {
    url,
    control,
    setErrors: async (errors, seed) => void (await control("POST", "errors", { errors, seed })),
    counts: () => control("GET", "counts"),
    async log() {
      const { entries } = await control<{ entries: LogEntry[] }>("GET", "log?limit=1000000");
      return entries;
    },
    async close() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

async function openAccount(database_url: string): Promise<TestAccount> {
  const db = openDatabase(database_url, openLog("silent", { readable: false }));
  const app = { db, clock: systemClock };
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 1_000_000 });
  await db.close();
  return account;
}

/** Creates a template at the provider and synchronizes it; returns its ID. */
async function fetchTemplate(
  stub: StubProcess,
  request: ChatDrillFixture["request"],
  chat_number_id: number,
): Promise<number> {
  const { business_account_id } = stub_number;
  const answer = await send(stub.url, "POST", `/v23.0/${business_account_id}/message_templates`, {
    token: default_settings.access_token,
    json: {
      name: template_name,
      language: "en",
      category: "UTILITY",
      parameter_format: "POSITIONAL",
      components: [{ type: "BODY", text: "Hello {{1}}, hello", example: { body_text: [["Ada"]] } }],
    },
  });
  assert.equal(answer.status, 200, answer.text);
  await request("POST", "/api/v1/chat/templates/sync", { chat_number_id });
  const templates = await request("GET", "/api/v1/chat/templates");
  return templates.body.data.find(({ name }: { name: string }) => name === template_name).id;
}

function openQuery(connectionString: string): ChatDrillFixture["query"] {
  return async (text, values = []) => {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 60_000 });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  };
}

type RecipientRow = {
  phone: string;
  state: string;
  dispatches: number;
  provider_message_id: string | null;
};

/**
 * Checks by the provider's log: no message ID was received twice, at most one message of each
 * recipient was accepted, a sent message was accepted under the stored ID, an unsent one never.
 */
async function checkProvider(fixture: ChatDrillFixture): Promise<void> {
  assert.deepEqual(
    await fixture.stub.control<Repeated[]>("GET", "repeated"),
    [],
    "message IDs received twice",
  );
  const taken = new Map<string, LogEntry>();
  for (const entry of await fixture.stub.log()) {
    if (entry.provider_message_id === "") continue;
    assert.ok(!taken.has(entry.to), `two messages to ${entry.to} were accepted`);
    taken.set(entry.to, entry);
  }
  const recipients = await fixture.query<RecipientRow>(
    "select phone, state, dispatches, provider_message_id from chat_recipients",
  );
  const byPhone = new Map(recipients.map((recipient) => [recipient.phone, recipient]));
  assert.equal(byPhone.size, recipients.length, "the drill's recipients have different numbers");
  for (const { phone, state, provider_message_id } of recipients) {
    const entry = taken.get(phone);
    if (["accepted", "sent", "delivered", "read", "undelivered"].includes(state))
      assert.equal(entry?.provider_message_id, provider_message_id, `${phone} is ${state}`);
    if (["queued", "deferred", "refused", "skipped", "cancelled"].includes(state))
      assert.equal(entry, undefined, `${phone} is ${state}, but its message was accepted`);
    if (state === "unresolved" && fixture.posts_webhooks)
      assert.notEqual(
        entry?.outcome,
        "accepted",
        `${phone} is ${state}, but its delivery statuses were posted`,
      );
  }
}
