// A fixture that places calls through a real Asterisk; SIPp simulates the carrier and the agents' phones.
// Each test has its own account, so that tests can run concurrently.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { startAsterisk, type RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import type { LeaderTimes } from "../../server/calls/leader/open-node-leaders.ts";
import {
  openAsteriskDriver,
  type AsteriskOptions,
} from "../../server/drivers/voice/asterisk/open-asterisk-driver.ts";
import { idAtSwitch } from "../../server/drivers/voice/asterisk/names.ts";
import type { AiAgentDrivers } from "../../server/drivers/ai-agent/driver.ts";
import type { ChatDrivers } from "../../server/drivers/chat/driver.ts";
import type { SpeechDriver } from "../../server/drivers/speech/driver.ts";
import type { App } from "../../server/engine/app.ts";
import { openLog } from "../../server/lib/log.ts";
import { startApi, type TestApi } from "./api.ts";
import { leadNodes, openCallClient, type CallClient } from "./call-client.ts";
import {
  makeCallingAccount,
  makeExtension,
  makeNode,
  makeTrunk,
  setCalling,
} from "./telephony-factory.ts";
import { checkCalls, checkLedger, checkVoiceCampaigns } from "./check-invariants.ts";
import { eventually } from "./eventually.ts";
import { rtpCounts, startCarrier, startPhones, type Sipp } from "./sipp.ts";

/** The extensions of every account; asterisk/try defines the behavior of their phones. */
export const extensions = {
  answers: "101",
  answers_too: "102",
  answers_as_well: "103",
  speaks: "105",
  listens: "106",
  busy: "201",
  declines: "202",
  unavailable: "203",
  rings_on: "204",
  answers_late: "205",
  hangs_up: "206",
  presses_star_1: "207",
  unregistered: "208",
} as const;

const endpoints: Readonly<Record<keyof typeof extensions, string>> = {
  answers: "agent1",
  answers_too: "agent2",
  answers_as_well: "agent3",
  speaks: "agent-speaks",
  listens: "agent-listens",
  busy: "agent-busy",
  declines: "agent-declines",
  unavailable: "agent-unavailable",
  rings_on: "agent-no-answer",
  answers_late: "agent-slow",
  hangs_up: "agent-hangs-up",
  presses_star_1: "agent-ends-call",
  unregistered: "agent-unregistered",
};

/** The account's settings, and the extensions that key presses transfer to. */
export type CallClientOptions = Parameters<typeof setCalling>[2] & {
  readonly credits?: number;
  readonly keys?: Readonly<Record<string, keyof typeof extensions>>;
};

/** A leg in Asterisk's CDR; times in seconds. */
export type SwitchRecord = {
  readonly channel: string;
  readonly call: string;
  readonly start: number;
  /** 0: not answered. */
  readonly answer: number;
  readonly end: number;
};

export type AsteriskFixture = {
  readonly api: TestApi;
  readonly app: App;
  /** Returns the running Asterisk; `restartAsterisk` replaces it. */
  asterisk(): RunningAsterisk;
  readonly carrier: Sipp;
  readonly node_id: number;
  readonly trunk_id: number;
  /** Creates an account with every extension and no calling window. */
  client(options?: CallClientOptions): Promise<CallClient>;
  /** Runs the node leaders, as a worker does. */
  startLeaders(times?: LeaderTimes): { stop(): Promise<void> };
  /** Returns the RTP packet counts of a leg of the call record; 1 is the first leg. */
  rtp(client: CallClient, callId: number, leg: number): ReturnType<typeof rtpCounts>;
  /** Waits until both legs have sent and received further packets, so that audio flows both ways. */
  talking(client: CallClient, callId: number, legs: readonly [number, number]): Promise<void>;
  /** Sends a request to ARI. */
  ari(method: string, path: string): Promise<Response>;
  /** Reads the CDRs of all legs, or of one call's legs. */
  records(client?: CallClient, callId?: number): SwitchRecord[];
  /** Kills Asterisk and restarts it. */
  restartAsterisk(): Promise<void>;
  /** Waits until every call has ended; throws if an invariant is violated or the switch has channels left. */
  checkAll(): Promise<void>;
  close(): Promise<void>;
};

/** Returns the channel id of a call's leg at the switch. */
export function channelIn({ account }: CallClient, callId: number, leg: number): string {
  return idAtSwitch("trunkline", `trk-${account.account_id}-${callId}-${leg}`);
}

/** Starts the fixture. `through` maps the real ARI address to the one that the leader uses. */
export async function openAsteriskFixture(
  options: {
    readonly node?: Pick<NonNullable<Parameters<typeof makeNode>[1]>, "calls_max">;
    readonly trunk?: Parameters<typeof makeTrunk>[2];
    readonly chatDrivers?: ChatDrivers;
    readonly aiAgentDrivers?: AiAgentDrivers;
    readonly speech?: SpeechDriver;
    readonly driver?: AsteriskOptions;
    readonly through?: (ari_url: string) => Promise<string>;
  } = {},
): Promise<AsteriskFixture> {
  const run_dir = mkdtempSync(join(tmpdir(), "trunkline-calls-"));
  let asterisk = await startAsterisk({ run_dir });
  const [carrier, phones] = await Promise.all([
    startCarrier(asterisk, "steered", { keeps_messages: true }),
    startPhones(asterisk),
  ]);
  const log = openLog(process.env["TEST_LOG_LEVEL"] ?? "silent", { readable: false });
  const voiceDrivers = { asterisk: openAsteriskDriver(log, options.driver) };
  const { chatDrivers, aiAgentDrivers, speech } = options;
  const api = await startApi({
    voiceDrivers,
    ...(chatDrivers && { chatDrivers }),
    ...(aiAgentDrivers && { aiAgentDrivers }),
    ...(speech && { speech }),
  });
  const { app } = api;
  const { ari_user, ari_password, app: ari_app, cdr_path, sounds_dir } = asterisk;
  const ari_url = (await options.through?.(asterisk.ari_url)) ?? asterisk.ari_url;
  const ari = { ari_url, ari_user, ari_password, ari_app, cdr_path, sounds_dir };
  const node_id = await makeNode(app, { driver: "asterisk", ...ari, ...options.node });
  const trunk_id = await makeTrunk(app, [node_id], {
    endpoint: "trunk",
    caller_ids: ["918044440000"],
    ...options.trunk,
  });
  const stops: (() => Promise<void>)[] = [];
  const clients: CallClient[] = [];
  const fixture: AsteriskFixture = {
    api,
    app,
    asterisk: () => asterisk,
    carrier,
    node_id,
    trunk_id,
    async client(settings = {}) {
      const client = await createClient(api, settings);
      clients.push(client);
      return client;
    },
    startLeaders(times) {
      const leaders = leadNodes(app, times);
      stops.push(leaders.stop);
      return leaders;
    },
    rtp: (client, callId, leg) => rtpCounts(asterisk, channelIn(client, callId, leg)),
    async talking(client, callId, legs) {
      const read = () => Promise.all(legs.map((leg) => fixture.rtp(client, callId, leg)));
      const before = await read();
      await eventually(async () => {
        const now = await read();
        return now.every(
          ({ received, sent }, i) =>
            received > before[i]!.received + 25 && sent > before[i]!.sent + 25,
        );
      });
    },
    ari: (method, path) => askAri(asterisk, method, path),
    records(client, callId) {
      const all = readRecords(asterisk.cdr_path);
      if (!client) return all;
      return all.filter(({ call }) => call === `trk-${client.account.account_id}-${callId}`);
    },
    async restartAsterisk() {
      await asterisk.kill();
      asterisk = await startAsterisk({ run_dir });
    },
    async checkAll() {
      await Promise.all(clients.map(untilOver));
      await checkLedger(app.db.pool);
      await checkCalls(app.db.pool);
      await checkVoiceCampaigns(app.db.pool);
      await checkNothingLeft(fixture);
      await checkAgentsFirst(fixture);
    },
    async close() {
      for (const stop of stops) await stop();
      await api.close();
      await Promise.all([asterisk.stop(), carrier.stop(), phones.stop()]);
      rmSync(run_dir, { recursive: true });
    },
  };
  return fixture;
}

async function createClient(
  api: TestApi,
  { credits, keys = {}, ...settings }: CallClientOptions,
): Promise<CallClient> {
  const { app } = api;
  const account = await makeCallingAccount(app, credits === undefined ? {} : { credits });
  // No call rings longer than a test waits.
  await setCalling(app, account, { agent_ring_seconds: 20, ...settings });
  for (const name of Object.keys(extensions) as (keyof typeof extensions)[]) {
    const [digit] = Object.entries(keys).find(([, to]) => to === name) ?? [];
    const more = { endpoint: endpoints[name], ...(digit !== undefined && { digit }) };
    await makeExtension(app, account, extensions[name], more);
  }
  return openCallClient(api, account);
}

function askAri(
  { ari_url, ari_user, ari_password }: RunningAsterisk,
  method: string,
  path: string,
): Promise<Response> {
  const authorization = `Basic ${btoa(`${ari_user}:${ari_password}`)}`;
  return fetch(ari_url + path, { method, headers: { authorization, connection: "close" } });
}

const columns = "channel start answer end billsec disposition cause tech_cause call".split(" ");

function readRecords(cdr_path: string): SwitchRecord[] {
  const text = existsSync(cdr_path) ? readFileSync(cdr_path, "utf8") : "";
  const rows = parse<Record<keyof SwitchRecord, string>>(text, { columns });
  return rows.map(({ channel, call, start, answer, end }) => {
    return { channel, call, start: Number(start), answer: Number(answer), end: Number(end) };
  });
}

async function untilOver({ ask }: CallClient): Promise<void> {
  await eventually(async () => {
    const { body } = await ask("GET", "/api/v1/calls?limit=100");
    return body.data.every(({ ended_at }: { ended_at: string | null }) => ended_at !== null);
  });
}

/** Asserts that neither ARI nor the console lists a channel or a bridge. */
async function checkNothingLeft({ ari, asterisk }: AsteriskFixture): Promise<void> {
  const left = async () => {
    const lists = ["/channels", "/bridges"].map(async (path) => (await ari("GET", path)).json());
    return (await Promise.all(lists)).flat();
  };
  await eventually(async () => (await left()).length === 0);
  assert.match(await asterisk().cli("core show channels count"), /^0 active channels/m);
}

/** Asserts, by the switch's clock: except in campaigns, no customer was dialed before an agent answered. */
async function checkAgentsFirst(fixture: AsteriskFixture): Promise<void> {
  const legs = await fixture.app.db.query
    .selectFrom("call_legs as l")
    .innerJoin("calls as c", (on) =>
      on.onRef("c.account_id", "=", "l.account_id").onRef("c.id", "=", "l.call_id"),
    )
    .select(["l.account_id", "l.call_id", "l.id", "l.role"])
    .where("c.recipient_id", "is", null)
    .execute();
  const roles = new Map(
    legs.map((leg) => [
      idAtSwitch("trunkline", `trk-${leg.account_id}-${leg.call_id}-${leg.id}`),
      leg.role,
    ]),
  );
  for (const [call, records] of Map.groupBy(fixture.records(), (record) => record.call)) {
    const answers = records.filter(
      ({ channel, answer }) => roles.get(channel) === "agent" && answer > 0,
    );
    const first = Math.min(...answers.map(({ answer }) => answer));
    for (const { channel, start } of records) {
      if (roles.get(channel) === "customer")
        assert.ok(start >= first, `${call}: ${start}, ${first}`);
    }
  }
}
