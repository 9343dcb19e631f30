// A rolling upgrade under load, as docs/guides/upgrade.md describes it: the previous version runs, the new one migrates the
// database and starts beside it, and then the old processes are stopped one by one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import pg from "pg";
import { migrate } from "../../server/lib/database/migrate.ts";
import { readDemo } from "../../server/seed-demo/demo-file.ts";
import type { TestAccount } from "../support/account-factory.ts";
import { send } from "../support/api.ts";
import { checkCalls, checkVoiceCampaigns } from "../support/check-invariants.ts";
import { citusUrls } from "../support/citus.ts";
import {
  databaseToCheck,
  emptyCitusDatabase,
  emptyDatabase,
  type TestDatabase,
} from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { openLoadBalancer, type LoadBalancer } from "../support/load-balancer.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import { startCalls } from "./call-load.ts";
import { openChatDrillFixture, phonesOf, type ChatDrillFixture } from "./chat-drill-fixture.ts";
import { startLeadLoad, type LeadLoad } from "./lead-load.ts";
import { test_secret_key } from "../support/secrets.ts";
import { unpackPreviousVersion, type PreviousVersion } from "./previous-version.ts";

const recipients_per_campaign = { chat: 100, voice: 4 } as const;
const messages_per_second = 20;
/** For a busy machine. */
const deadline_s = 180;

type Upgrade = {
  readonly fixture: ChatDrillFixture;
  readonly voice_file_id: number;
  /** Every campaign that was launched. */
  readonly launched: { readonly path: string; readonly id: number }[];
};

/** The account of the demo, which the previous version creates: this one's functions may not fit its schema. */
async function demoAccount(api: ServiceProcess, database_url: string): Promise<TestAccount> {
  const demo = (await readDemo(api.data_dir))!;
  const client = new pg.Client({ connectionString: database_url });
  await client.connect();
  const { rows } = await client.query<{ account_id: number; owner_id: number }>(
    "select account_id::int, id::int as owner_id from users where email = $1",
    [demo.console.email],
  );
  await client.end();
  return { ...rows[0]!, token: demo.tokens["account"]!, workspace_id: demo.workspace_id };
}

/** Launches a chat campaign and one whose AI agent calls. */
async function launchCampaigns({ fixture, launched, voice_file_id }: Upgrade): Promise<void> {
  const { chat, voice } = recipients_per_campaign;
  const phones = phonesOf(chat, launched.length * chat);
  launched.push({ path: "chat", id: await fixture.createCampaign(phones) });
  const numbers = phonesOf(voice, launched.length * voice).map((phone) => phone.slice(2));
  const { body } = await fixture.request("POST", "/api/v1/voice/voiceCampaign", {
    campaign_name: "Drill",
    voice_file_id,
    call_type: "ai_bot",
    sendTo: "Numbers",
    number: numbers.join(","),
  });
  launched.push({ path: "voice", id: body.campaignId });
}

/** Submits click-to-calls, each to a customer of its own. */
function startClickToCalls(fixture: ChatDrillFixture, { url }: LoadBalancer) {
  let made = 0;
  const submit = async () => {
    const json = { from_number: "101", to_number: `97${String(++made).padStart(8, "0")}` };
    const path = "/api/v1/clickToCallApis/clickToCall";
    const { token } = fixture.account;
    return (await send(url, "POST", path, { token, json }).catch(() => null))?.status ?? 0;
  };
  return startCalls(submit, () => countCalls(fixture, "stage <> 'ended'"), 1);
}

async function countCalls(fixture: ChatDrillFixture, where: string, values: unknown[] = []) {
  const [row] = await fixture.query<{ count: number }>(
    `select count(*)::int from calls where ${where}`,
    values,
  );
  return row!.count;
}

/** Creates the database; on Citus, the previous version migrates and distributes it before it starts. */
async function databaseOf({ dir }: PreviousVersion): Promise<TestDatabase> {
  if (citusUrls("").length === 0) return emptyDatabase();
  const database = await emptyCitusDatabase();
  for (const words of [["migrate"], ["distribute", "--shards", "2"]])
    execFileSync(process.execPath, ["server/cli/main.ts", ...words], {
      cwd: dir,
      env: { ...process.env, DATABASE_URL: database.url, TRUNKLINE_SECRET_KEY: test_secret_key },
    });
  return database;
}

/** Waits until a call of each kind talks on the node. */
async function awaitTalking(fixture: ChatDrillFixture, node_id: number): Promise<void> {
  await eventually(async () => {
    const talking = (kind: string) =>
      countCalls(fixture, `stage = 'talking' and ${kind} and node_id = $1`, [node_id]);
    return (await talking("recipient_id is null")) > 0 && (await talking("recipient_id > 0")) > 0;
  }, deadline_s);
}

/** Counts the worker processes that can lead nodes. */
async function countWorkers(fixture: ChatDrillFixture): Promise<number> {
  const rows = await fixture.query(
    "select from leases where name like 'pool:voice_node:%' and holder is not null and expires_at > clock_timestamp()",
  );
  return rows.length;
}

/** Returns the process that leads the connected node, or undefined. */
async function leaderOf(fixture: ChatDrillFixture, node_id: number): Promise<string | undefined> {
  const rows = await fixture.query<{ holder: string }>(
    `select l.holder from leases l join voice_nodes n on l.name = 'voice_node:' || n.id
     where n.id = $1 and n.connected_at is not null and l.holder is not null and l.expires_at > clock_timestamp()`,
    [node_id],
  );
  return rows[0]?.holder;
}

/** Adds a node, which no trunk uses yet. */
async function addNode(fixture: ChatDrillFixture): Promise<number> {
  const node = { name: "second", driver: "sandbox", calls_per_second: 50, calls_max: 500 };
  return (await fixture.request("POST", "/api/v1/voice-nodes", node)).body.id;
}

/**
 * Lets further calls go over another node, and waits until those have ended that need the process of the old one. The
 * old node is not deactivated: up to migration 0075, that cut off its conversations with AI agents.
 */
async function moveCalls(fixture: ChatDrillFixture, from: number, to: number): Promise<void> {
  await fixture.request("POST", "/api/v1/trunks", {
    name: "second",
    endpoint: "second",
    agent_numbers: "any",
    // Preferred to the demo's trunk, which serves every account.
    only_account_id: fixture.account.account_id,
    nodes: [{ node_id: to, calls_per_second: 50, calls_max: 500 }],
  });
  const live = "stage <> 'ended' and node_id = $1";
  await eventually(async () => (await countCalls(fixture, live, [from])) === 0, deadline_s);
}

/** All campaigns have completed, and all calls and conversations have ended as they would without an upgrade. */
async function checkEnds({ fixture, launched }: Upgrade): Promise<void> {
  for (const { path, id } of launched) {
    let status = "";
    const isCompleted = async () => {
      const { body } = await fixture.request("GET", `/api/v1/${path}/campaigns/${id}`);
      status = body.status;
      return status === "completed";
    };
    await eventually(isCompleted, deadline_s).catch((error: unknown) => {
      throw new Error(`${path} campaign ${id} is ${status}`, { cause: error });
    });
  }
  await eventually(async () => (await countCalls(fixture, "stage <> 'ended'")) === 0, deadline_s);
  const ends = await fixture.query<{ kind: string; ended_reason: string; disposition: string }>(
    `select distinct case when recipient_id is null then 'click_to_call' else 'ai_agent' end as kind,
       ended_reason, disposition from calls order by 1`,
  );
  const transferred = await fixture.query("select from call_legs where role = 'transfer'");
  assert.equal(transferred.length, 0, "callers whose AI agent was lost are transferred");
  assert.deepEqual(ends, [
    { kind: "ai_agent", ended_reason: "hung_up", disposition: "answered" },
    { kind: "click_to_call", ended_reason: "hung_up", disposition: "answered" },
  ]);
  await fixture.awaitWebhooks();
}

async function checkInvariants({ fixture }: Upgrade, leads: LeadLoad): Promise<void> {
  const { url, drop } = await databaseToCheck(fixture.database_url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await checkCalls(client);
    await checkVoiceCampaigns(client);
    await fixture.checkInvariants(url);
    await leads.checkInvariants(url);
  } finally {
    await client.end();
    await drop();
  }
}

test("while the new version replaces the previous one, no request fails, no message is sent twice, every campaign completes and no call or conversation with an AI agent is cut off", async (t) => {
  const previous = unpackPreviousVersion();
  t.after(() => previous.dispose());
  const database = await databaseOf(previous);
  t.after(() => database.drop());
  const balancer = await openLoadBalancer();
  t.after(() => balancer.close());
  const began_ms = performance.now();
  await using fixture = await openChatDrillFixture({
    database_url: database.url,
    version: previous.dir,
    balancer,
    rate_per_second: messages_per_second,
    account: (api) => demoAccount(api, database.url),
    env: { TRUNKLINE_SEED: "demo" },
  });
  const { voice_file_id } = (await readDemo(fixture.api.data_dir))!;
  const upgrade: Upgrade = { fixture, voice_file_id, launched: [] };
  const [{ id: old_node }] = (await fixture.request("GET", "/api/v1/voice-nodes")).body.data;
  const old_worker = await fixture.startWorker(previous.dir);
  const leads = startLeadLoad(fixture.account, () => [balancer.url], { clients: 2, pause_ms: 100 });
  const calls = startClickToCalls(fixture, balancer);
  await launchCampaigns(upgrade);
  await awaitTalking(fixture, old_node);

  const applied = await migrate(database.url);
  assert.ok(applied.length > 0, "the previous version has an older schema");
  const new_api = await fixture.startApi();
  const new_worker = await fixture.startWorker();
  await eventually(async () => (await countWorkers(fixture)) === 2, deadline_s);
  const new_node = await addNode(fixture);
  await eventually(async () => (await leaderOf(fixture, new_node)) !== undefined, deadline_s);
  assert.notEqual(await leaderOf(fixture, new_node), await leaderOf(fixture, old_node));
  await launchCampaigns(upgrade);
  await awaitTalking(fixture, old_node);
  await moveCalls(fixture, old_node, new_node);
  old_worker.kill("SIGTERM");
  assert.equal(await old_worker.ended(), 0, old_worker.output());
  await balancer.remove(fixture.api.url);
  fixture.api.kill("SIGTERM");
  assert.equal(await fixture.api.ended(), 0, fixture.api.output());

  await launchCampaigns(upgrade);
  // Before the load ends: it repeats a failed request with an idempotency key until it succeeds.
  assert.deepEqual(balancer.failures(), []);
  await Promise.all([leads.stop(), calls.stop()]);
  await checkEnds(upgrade);
  await checkInvariants(upgrade, leads);
  assert.deepEqual(balancer.failures(), []);
  assert.deepEqual([[...leads.statuses()], calls.refused()], [[], {}]);
  assert.deepEqual(fixture.crashes(), []);
  for (const { output } of [fixture.api, old_worker, new_api, new_worker])
    assert.doesNotMatch(output(), /"level":50/, "no process had an unexpected error");
  const seconds = ((performance.now() - began_ms) / 1_000).toFixed(1);
  t.diagnostic(
    `from ${previous.commit.slice(0, 8)}, which lacked ${applied.join(", ")}: ${seconds} s, ` +
      `${leads.acknowledged()} leads, ${calls.accepted()} click-to-calls, ${upgrade.launched.length} campaigns`,
  );
});
