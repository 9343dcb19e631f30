// A fixture that places calls with real parts: an Asterisk, SIPp as its carrier and phones, an API
// process and worker processes, one database. Drills disrupt it by signals.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startAsterisk, type RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { systemClock } from "../../server/lib/clock.ts";
import type { Answer } from "../support/api.ts";
import {
  makeCallingAccount,
  makeExtension,
  makeNode,
  makeTrunk,
  setCalling,
} from "../support/telephony-factory.ts";
import { cloneDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import type { TestAccount } from "../support/account-factory.ts";
import { spawnService, startService, type ServiceProcess } from "../support/service-process.ts";
import { startCarrier, startPhones, type Sipp } from "../support/sipp.ts";
import { checkCallTraces, type TraceFigures } from "./check-call-traces.ts";

export type Worker = ServiceProcess & { readonly name: string; isAlive(): boolean };

/** The extensions of the fixture's account, by the behavior of the phone. */
export const phones = {
  answers: "2001",
  busy: "2002",
  rings_on: "2003",
  /** Answers after 3 s. */
  slow: "2004",
  /** Answers, and hangs up after 4 s. */
  hangs_up: "2005",
  declines: "2006",
  unregistered: "2007",
} as const;
export type Phone = keyof typeof phones;

/** No conversation ends near the end of a pulse, so rounding does not change the bill. */
const pulse_seconds = 2;

/** For a hundred calls to end on a busy machine, some of them after a retry. */
const deadline_s = 180;

const endpoints: Readonly<Record<Phone, string>> = {
  answers: "agent1",
  busy: "agent-busy",
  rings_on: "agent-no-answer",
  slow: "agent-slow",
  hangs_up: "agent-hangs-up",
  declines: "agent-declines",
  unregistered: "agent-unregistered",
};

export type CallDrillFixture = {
  readonly api: ServiceProcess;
  readonly account: TestAccount;
  readonly node_id: number;
  readonly trunk_id: number;
  readonly database_url: string;
  /** The simulated carrier, with its log of SIP messages. */
  readonly carrier: Sipp;
  /** Returns the running Asterisk; `startSwitch` replaces it. */
  asterisk(): RunningAsterisk;
  /** Starts Asterisk again in the same folder after it was killed. */
  startSwitch(): Promise<void>;
  /** Spawns a worker; does not wait until it is ready. */
  startWorker(): Promise<Worker>;
  /** Returns the worker that is connected to the switch, or null. */
  findLeader(workers: readonly Worker[]): Worker | null;
  /** Waits until each worker has started: it has more connections than the one it migrates with. */
  awaitWorking(workers: readonly Worker[]): Promise<void>;
  /** Waits until one of the workers is the leader; returns it. */
  awaitLeader(workers: readonly Worker[]): Promise<Worker>;
  /** Submits a click-to-call; the number selects the customer's behavior. Returns the HTTP status, 0 for none. */
  call(phone: Phone, number: string, more?: Record<string, number>): Promise<number>;
  /** Runs a query on the drill's own connection, one at a time. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  count(where: string, values?: unknown[]): Promise<number>;
  /** Waits until a call matches, polling without a pause. */
  awaitCall(where: string): Promise<void>;
  /** Waits until every call has ended, including automatic retries. */
  awaitAllEnded(): Promise<void>;
  /** Counts calls by status and ended reason. */
  outcomes(): Promise<Record<string, number>>;
  /** Checks all invariants, by SQL and by the records of Asterisk and the carrier; see checkCallTraces. */
  checkCalls(): Promise<TraceFigures>;
  /** Returns the output of workers that exited without SIGKILL or SIGTERM. */
  crashes(): string[];
  /** Ends every process and prints the output of crashed workers. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** Whether a process is connected to a local port, by /proc/net/tcp. */
function isConnected(pid: number, port: number): boolean {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const inodes = new Set<string>();
  for (const line of readFileSync("/proc/net/tcp", "utf8").split("\n")) {
    const [, , to, state, , , , , , inode] = line.trim().split(/\s+/);
    if (to === remote && state === "01") inodes.add(`socket:[${inode}]`);
  }
  try {
    const fds = `/proc/${pid}/fd`;
    return readdirSync(fds).some((fd) => {
      try {
        return inodes.has(readlinkSync(join(fds, fd)));
      } catch {
        return false; // It was closed in the meantime.
      }
    });
  } catch {
    return false; // The process has exited.
  }
}

/**
 * Starts Asterisk, the simulated phones and the API, and creates an account with credit, extensions and
 * a trunk. `ari_port` returns the port at which workers reach the switch; `env` goes to every process.
 */
export async function openCallDrillFixture(
  options: {
    database_url?: string;
    env?: Record<string, string>;
    ari_port?: (real: number) => Promise<number>;
    /** Pacing limit of new legs per second; the default is above any load of the drills. */
    legs_per_second?: number;
  } = {},
): Promise<CallDrillFixture> {
  const database = options.database_url ? null : await cloneDatabase();
  const database_url = options.database_url ?? database!.url;
  const run_dir = await mkdtemp(join(tmpdir(), "trunkline-drill-asterisk-"));
  const env = {
    TRUNKLINE_SEED: "none",
    // Short, because every kill waits until it expires; long enough for a busy machine to renew it.
    LEASE_SECONDS: "4",
    ...options.env,
  };
  let asterisk = await startAsterisk({ run_dir });
  const carrier = await startCarrier(asterisk, "steered", { keeps_messages: true });
  const sipp_processes = [carrier, await startPhones(asterisk)];
  const ari_port = (await options.ari_port?.(asterisk.ports.http)) ?? asterisk.ports.http;
  const api = await startService({ ...env, ROLES: "api", DATABASE_URL: database_url });
  const setup = await createSetup(database_url, asterisk, ari_port, options.legs_per_second ?? 50);
  const { query, close } = openQuery(database_url);
  let started = 0;
  const workers: (Worker & { isCrashed(): boolean })[] = [];

  const startWorker = async () => {
    const name = `worker-${++started}`;
    const url = `${database_url}?application_name=${name}`;
    const service = await spawnService({ ...env, ROLES: "worker", DATABASE_URL: url });
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
  const count = async (where: string, values: unknown[] = []) => {
    const rows = await query<{ count: number }>(
      `select count(*)::int from calls c where ${where}`,
      values,
    );
    return rows[0]!.count;
  };
  const fixture: CallDrillFixture = {
    api,
    ...setup,
    database_url,
    carrier,
    asterisk: () => asterisk,
    async startSwitch() {
      asterisk = await startAsterisk({ run_dir });
    },
    startWorker,
    query,
    count,
    findLeader: (among) =>
      among.find((worker) => worker.isAlive() && isConnected(worker.pid, ari_port)) ?? null,
    async awaitWorking(among) {
      await eventually(async () => {
        const rows = await query<{ name: string }>(
          `select application_name as name from pg_stat_activity
           where datname = current_database() group by 1 having count(*) > 1`,
        );
        const names = new Set(rows.map(({ name }) => name));
        return among.every(({ name }) => names.has(name));
      });
    },
    async awaitLeader(among) {
      let leader: Worker | null = null;
      await eventually(() => (leader = fixture.findLeader(among)) !== null);
      return leader!;
    },
    async call(phone, number, more = {}) {
      const json = { from_number: phones[phone], to_number: number, ...more };
      const path = "/api/v1/clickToCallApis/clickToCall";
      const { token } = setup.account;
      const answer: Answer | null = await api.send("POST", path, { token, json }).catch(() => null);
      return answer?.status ?? 0;
    },
    async awaitCall(where) {
      const deadline = performance.now() + deadline_s * 1_000;
      while ((await query(`select from calls c where ${where} limit 1`)).length === 0)
        if (performance.now() > deadline) {
          const newest = await query(
            `select to_number, node_id, stage, status, ended_reason, due_at, fence from calls order by id desc limit 5`,
          );
          throw new Error(`no call matched: ${where}; newest: ${JSON.stringify(newest)}`);
        }
    },
    async awaitAllEnded() {
      const isDone = async () => {
        // Automatic retries wait a minute.
        await query("update calls set due_at = now() where stage = 'queued' and due_at > now()");
        return (await count("stage <> 'ended'")) === 0;
      };
      await eventually(isDone, deadline_s).catch(async (error: unknown) => {
        const rows = await query(
          `select c.id, c.stage, c.status, c.recording_state, c.fence, c.steps, c.initiated_at,
             (select json_agg(l) from call_legs l where l.account_id = c.account_id and l.call_id = c.id) as legs
           from calls c where c.stage <> 'ended' order by c.id limit 5`,
        );
        for (const worker of workers)
          console.error(`${worker.name}: ${worker.output().slice(-2_000)}`);
        for (const command of ["core show channels concise", "bridge show all"])
          console.error(`${command}:\n${await asterisk.cli(command).catch(String)}`);
        throw new Error(`calls have not ended: ${JSON.stringify(rows)}`, { cause: error });
      });
    },
    async outcomes() {
      const rows = await query<{ how: string; count: number }>(
        `select status || '/' || coalesce(ended_reason, '') as how, count(*)::int
         from calls group by 1 order by 1`,
      );
      return Object.fromEntries(rows.map(({ how, count: calls }) => [how, calls]));
    },
    async checkCalls() {
      const client = new pg.Client({ connectionString: database_url });
      await client.connect();
      try {
        const figures = await checkCallTraces(client, asterisk, carrier);
        for (const { name, output } of [...workers, { name: "api", output: api.output }]) {
          assert.ok(!output().includes(asterisk.ari_password), `${name} printed ARI's password`);
          assert.ok(!output().includes(setup.account.token), `${name} printed a token`);
        }
        return figures;
      } finally {
        await client.end();
      }
    },
    crashes: () =>
      workers.flatMap((worker) => (worker.isCrashed() ? `${worker.name}: ${worker.output()}` : [])),
    async [Symbol.asyncDispose]() {
      for (const crash of fixture.crashes()) console.error(crash);
      await Promise.all([api, ...workers].map((service) => service.dispose()));
      await close();
      await Promise.all([asterisk.kill(), ...sipp_processes.map((sipp) => sipp.stop())]);
      await rm(run_dir, { recursive: true, force: true, maxRetries: 3 });
      await database?.drop();
    },
  };
  return fixture;
}

async function createSetup(
  database_url: string,
  asterisk: RunningAsterisk,
  ari_port: number,
  calls_per_second: number,
): Promise<Pick<CallDrillFixture, "account" | "node_id" | "trunk_id">> {
  const db = openDatabase(database_url, openLog("silent", { readable: false }));
  const app = { db, clock: systemClock };
  const account = await makeCallingAccount(app, { credits: 100_000 });
  await setCalling(app, account, {
    agent_ring_seconds: 5,
    customer_ring_seconds: 5,
    call_pulse_seconds: pulse_seconds,
  });
  for (const phone of Object.keys(phones) as Phone[])
    await makeExtension(app, account, phones[phone], { endpoint: endpoints[phone] });
  const { ari_user, ari_password, app: ari_app, cdr_path, sounds_dir } = asterisk;
  const node_id = await makeNode(app, {
    driver: "asterisk",
    ari_url: `http://127.0.0.1:${ari_port}/ari`,
    ari_user,
    ari_password,
    ari_app,
    cdr_path,
    sounds_dir,
    calls_per_second,
  });
  const limits = { calls_per_second, calls_max: 1_000 };
  const trunk_id = await makeTrunk(app, [node_id], { endpoint: "trunk", limits });
  await db.close();
  return { account, node_id, trunk_id };
}

/** Keeps one connection, because drills query often; reconnects after the database was unavailable. */
function openQuery(connectionString: string): {
  query: CallDrillFixture["query"];
  close(): Promise<void>;
} {
  const pool = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis: 60_000 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return {
    query: async (text, values = []) => (await pool.query(text, values)).rows,
    close: () => pool.end(),
  };
}
