import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { eventually } from "../support/eventually.ts";
import { test_secret_key } from "../support/secrets.ts";
import {
  campaigns_path,
  openChatDrillFixture,
  phonesOf,
  type ChatDrillFixture,
} from "./chat-drill-fixture.ts";
import { openInterruptibleProxy } from "../support/interruptible-proxy.ts";
import { startReplicatedPostgres } from "../support/replicated-postgres.ts";
import { startArchivedPostgres } from "./restored-postgres.ts";

const recipients = 900;
const rate_per_second = 60;

const requestsOf = async (fixture: ChatDrillFixture) => (await fixture.stub.counts()).requests;

/** Waits until the provider received `more` further messages; returns when. */
async function awaitRequests(fixture: ChatDrillFixture, more: number): Promise<Date> {
  const goal = (await requestsOf(fixture)) + more;
  await eventually(async () => (await requestsOf(fixture)) >= goal);
  return new Date();
}

const awaitAllSent = (fixture: ChatDrillFixture, campaign_id: number) =>
  eventually(async () => {
    const { queued = 0, deferred = 0, dispatching = 0 } = await fixture.states(campaign_id);
    return queued + deferred + dispatching === 0;
  });

/** Runs `trunkline restored` with these options; returns its JSON. */
async function runRestored(fixture: ChatDrillFixture, ...options: string[]): Promise<Restored> {
  const main = join(import.meta.dirname, "../../server/cli/main.ts");
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, "restored", ...options, "--json"],
    {
      env: {
        PATH,
        NODE_COMPILE_CACHE,
        DATABASE_URL: fixture.database_url,
        TRUNKLINE_SECRET_KEY: test_secret_key,
      },
    },
  );
  return JSON.parse(stdout) as Restored;
}

type Restored = {
  lost: { since: string; until: string };
  held: { chat_campaigns: number; recipients_in_doubt: number };
};

test("a database restored to a moment during a campaign sends no message twice", async () => {
  await using postgres = await startArchivedPostgres();
  await using fixture = await openChatDrillFixture({
    database_url: postgres.url,
    rate_per_second,
    // Most messages of the lost time are read after the restore; what was reported before is lost too.
    stub: { delay_ms: 20, read_ms: 2_000 },
    env: { LEASE_SECONDS: "2" },
  });
  const campaign_id = await fixture.createCampaign(phonesOf(recipients));
  const worker = await fixture.startWorker();
  await awaitRequests(fixture, 1);
  // However long the backup takes, most messages are sent after it.
  await fixture.setRate(5);
  await postgres.backUp();
  await fixture.setRate(rate_per_second);
  const moment = await awaitRequests(fixture, 60);
  const lost_id = await fixture.createCampaign(phonesOf(5, recipients));
  const until = await awaitRequests(fixture, 120);

  await postgres.restoreTo(moment);
  assert.equal(await worker.ended(), 1, "a running worker ends, whatever it was about to send");
  assert.equal(await fixture.api.ended(), 1);
  const sent = await requestsOf(fixture);
  const api = await fixture.startApi();
  await fixture.stub.control("POST", "settings", { callback_url: `${api.url}/hooks/whatsapp` });
  const successor = await fixture.startWorker();
  await eventually(async () => successor.output().includes("trunkline restored"));
  const known = await fixture.states(campaign_id);
  const lost_messages = sent - (recipients - known["queued"]!);
  assert.ok(lost_messages > 60, `${lost_messages} messages were lost: ${JSON.stringify(known)}`);
  assert.equal(await requestsOf(fixture), sent, "nothing is sent before an operator decides");

  const { lost, held } = await runRestored(fixture, "--until", until.toISOString());
  assert.ok(new Date(lost.since) <= moment);
  assert.equal(held.chat_campaigns, 1);
  assert.ok(
    held.recipients_in_doubt >= lost_messages && held.recipients_in_doubt < recipients / 2 + 300,
  );
  console.log(`${lost_messages} lost, ${held.recipients_in_doubt} in doubt of ${known["queued"]!}`);
  await eventually(async () => {
    const { unknown = 0, read = 0, dispatching = 0 } = await fixture.states(campaign_id);
    return dispatching === 0 && unknown > 0 && read > (known["read"] ?? 0);
  });
  const request = async (method: string, path: string, json?: unknown) => {
    const body = json === undefined ? {} : { json };
    const headers = { "idempotency-key": `restored-${path}` };
    const answer = await api.send(method, path, { token: fixture.account.token, headers, ...body });
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const paused = await request("GET", `${campaigns_path}/${campaign_id}`);
  assert.equal(paused.paused_reason, "manual");
  assert.match(paused.holds[0].detail, /^The database was restored and knows nothing of /);
  assert.equal(await requestsOf(fixture), sent, "nothing is sent before a person resumes");

  await request("PATCH", `/api/v1/chat/numbers/${fixture.number_id}`, { rate_per_second: 500 });
  await request("POST", `${campaigns_path}/${campaign_id}/resume`);
  const next = await request("POST", campaigns_path, {
    name: "Next",
    chat_number_id: fixture.number_id,
    template_id: fixture.template_id,
    contacts: phonesOf(5, recipients + 5).map((phone_number) => ({
      phone_number,
      variables: { "1": "Ada" },
    })),
  });
  assert.ok(next.id > lost_id + 1_000, "no ID of the lost time is given out again");
  await eventually(async () => (await fixture.states(next.id))["read"] === 5);
  await awaitAllSent(fixture, campaign_id);
  await fixture.awaitWebhooks();
  const states = await fixture.states(campaign_id);
  console.log(JSON.stringify(states));
  assert.ok(states["unknown"]! < held.recipients_in_doubt, "late statuses settle some of them");
  await fixture.checkInvariants();
});

test("a failover to a synchronous replica during a campaign loses and repeats no message", async () => {
  await using postgres = await startReplicatedPostgres();
  await postgres.makeSynchronous();
  const portOf = (url: string) => Number(new URL(url).port);
  const proxy = await openInterruptibleProxy(portOf(postgres.primary_url));
  // The address that the cluster's manager keeps at the primary.
  const address = new URL(postgres.primary_url);
  address.port = String(proxy.port);
  try {
    await using fixture = await openChatDrillFixture({
      database_url: address.href,
      rate_per_second,
      env: { LEASE_SECONDS: "2" },
    });
    const campaign_id = await fixture.createCampaign(phonesOf(400));
    const worker = await fixture.startWorker();
    await awaitRequests(fixture, 150);
    proxy.cut();
    await postgres.failOver();
    proxy.redirect(portOf(postgres.replica_url));
    proxy.restore();
    assert.equal(await worker.ended(), 1, "a worker of the lost primary ends");
    const sent = await requestsOf(fixture);
    const api = await fixture.startApi();
    await fixture.stub.control("POST", "settings", { callback_url: `${api.url}/hooks/whatsapp` });
    const successor = await fixture.startWorker();
    await eventually(async () => successor.output().includes("trunkline restored"));
    assert.equal(await requestsOf(fixture), sent, "nothing is sent before an operator decides");

    assert.deepEqual(await runRestored(fixture, "--nothing-lost"), { nothing_lost: true });
    await awaitAllSent(fixture, campaign_id);
    await fixture.awaitWebhooks();
    console.log(JSON.stringify(await fixture.states(campaign_id)));
    await fixture.checkInvariants();
  } finally {
    await proxy.close();
  }
});
