import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { signalPostgres } from "../support/signal-postgres.ts";
import {
  campaigns_path,
  openChatDrillFixture,
  phonesOf,
  type ChatDrillFixture,
} from "./chat-drill-fixture.ts";

const recipient_count = 1_200;
const restarts = 2;

/** Creates small campaigns until stopped. A 201 is an acknowledgment; any other response is retried under its key. */
function startCreating(fixture: ChatDrillFixture) {
  const acknowledged: number[] = [];
  const refused = new Set<number>();
  const stopping = new AbortController();
  const create = async (index: number): Promise<boolean> => {
    const contacts = phonesOf(3, 1_000_000 + index * 3).map((phone_number) => ({ phone_number }));
    const { number_id: chat_number_id, template_id, account, api } = fixture;
    const variables = { "1": "Bob" };
    const answer = await api
      .send("POST", campaigns_path, {
        token: account.token,
        headers: { "idempotency-key": `created-${index}` },
        json: {
          name: "Small",
          chat_number_id,
          template_id,
          contacts: contacts.map((contact) => ({ ...contact, variables })),
        },
      })
      .catch(() => null);
    if (answer?.status === 201) acknowledged.push(answer.body.id);
    else refused.add(answer?.status ?? 0);
    return answer?.status === 201;
  };
  const run = async () => {
    for (let index = 0; !stopping.signal.aborted; index++) {
      await eventually(() => create(index));
      await pause(400);
    }
  };
  const running = run();
  return {
    acknowledged,
    refused,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

test("sending survives restarts and a freeze of PostgreSQL: no process ends, nothing acknowledged is lost, and no message is sent twice", async () => {
  const dataDir = scratchFolder("trunkline-chat-drill-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  {
    await using fixture = await openChatDrillFixture({
      database_url: postgres.url,
      // Slow enough that a busy machine reaches the freeze before the campaign ends.
      rate_per_second: 60,
      stub: { delay_ms: 100, attempts_max: 100 },
      env: { LEASE_SECONDS: "3", CHAT_SETTLE_SECONDS: "20" },
    });
    const campaign_id = await fixture.createCampaign(phonesOf(recipient_count));
    const creating = startCreating(fixture);
    const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
    // A worker that starts while the database is unavailable would exit, by design.
    await eventually(async () => (await fixture.findWorking(workers)).length === workers.length);
    const requests = async () => (await fixture.stub.counts()).requests;
    const awaitRequests = async (more: number) => {
      const goal = (await requests()) + more;
      await eventually(async () => (await requests()) >= goal);
    };
    const recovery_ms: number[] = [];
    const awaitRecovery = async () => {
      const began = performance.now();
      await awaitRequests(20);
      recovery_ms.push(Math.round(performance.now() - began));
    };
    for (let restart = 0; restart < restarts; restart++) {
      await awaitRequests(60);
      await postgres.stop();
      postgres = await start();
      await awaitRecovery();
    }
    await awaitRequests(60);
    signalPostgres(postgres.pid, "SIGSTOP");
    // Longer than the lease and the longest statement time-out.
    await pause(8_000);
    assert.equal((await fixture.api.send("GET", "/health/live")).status, 200);
    // Nothing is sent that cannot be recorded; requests in flight may still arrive on a busy machine.
    await eventually(async () => {
      const frozen = await requests();
      await pause(1_000);
      return (await requests()) === frozen;
    });
    assert.ok((await requests()) < recipient_count);
    signalPostgres(postgres.pid, "SIGCONT");
    await awaitRecovery();
    await creating.stop();
    await fixture.setRate(500);
    const states = async () => fixture.states(campaign_id);
    await fixture.awaitStatus(campaign_id, "completed");
    await fixture.awaitWebhooks();
    await eventually(async () => {
      const [row] = await fixture.query<{ count: number }>(
        "select count(*)::int from chat_campaigns where state <> 'completed'",
      );
      return row!.count === 0;
    });
    const taken = (await fixture.stub.counts()).taken;
    console.log(
      `${restarts} restarts and a freeze, sent again after ${recovery_ms.join(", ")} ms; ` +
        `${creating.acknowledged.length} campaigns acknowledged, other statuses ${[...creating.refused].join(", ") || "none"}; ` +
        `${taken} accepted; ${JSON.stringify(await states())}`,
    );
    // Every accepted message got its statuses. A message that was marked in a statement whose response was
    // lost with the lease looks like a sent one; checkInvariants verifies at the provider that it was not.
    const { read = 0, unresolved = 0 } = await states();
    assert.equal(read + unresolved, recipient_count);
    assert.ok(read > unresolved, `${unresolved} are unresolved`);
    const stored = await fixture.query<{ id: number; recipients: number }>(
      `select c.id::int, count(r.id)::int as recipients from chat_campaigns c
       join chat_recipients r on r.account_id = c.account_id and r.campaign_id = c.id
       where c.name = 'Small' group by 1`,
    );
    assert.deepEqual(
      stored.map(({ id }) => id).toSorted((a, b) => a - b),
      creating.acknowledged.toSorted((a, b) => a - b),
    );
    assert.ok(stored.every(({ recipients }) => recipients === 3));
    await fixture.checkInvariants();
    assert.deepEqual(fixture.crashes(), []);
    assert.ok(workers.every((worker) => worker.isAlive()));
  }
  await postgres.stop();
  await rm(dataDir, { recursive: true });
});
