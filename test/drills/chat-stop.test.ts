import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import {
  openChatDrillFixture,
  phonesOf,
  type ChatDrillFixture,
  type Worker,
} from "./chat-drill-fixture.ts";

const recipients = 800;

/** Waits until the provider received `more` further messages. */
async function awaitRequests(fixture: ChatDrillFixture, more: number): Promise<void> {
  const goal = (await fixture.stub.counts()).requests + more;
  await eventually(async () => (await fixture.stub.counts()).requests >= goal);
}

async function lease(fixture: ChatDrillFixture): Promise<{ fence: number; is_held: boolean }> {
  const [row] = await fixture.query<{ fence: number; is_held: boolean }>(
    `select fence::float8 as fence, holder is not null as is_held from leases where name = 'chat_sender:' || $1`,
    [fixture.number_id],
  );
  return row!;
}

async function awaitSender(fixture: ChatDrillFixture, among: readonly Worker[]): Promise<Worker> {
  let sender: Worker | null = null;
  await eventually(async () => (sender = await fixture.findSender(among)) !== null);
  return sender!;
}

test("a sender that receives SIGTERM has no message of unknown outcome, and another sender continues at once", async () => {
  // Without delivery statuses an unknown outcome stays unknown. Slow enough for all stops on a busy machine.
  await using fixture = await openChatDrillFixture({
    rate_per_second: 40,
    stub: { delay_ms: 200, callback_url: null },
  });
  const campaign_id = await fixture.createCampaign(phonesOf(recipients));
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  const stops = 5;
  for (let stop = 0; stop < stops; stop++) {
    await awaitRequests(fixture, 20);
    const sender = await awaitSender(fixture, workers);
    const { fence: held } = await lease(fixture);
    sender.kill("SIGTERM");
    assert.equal(await sender.ended(), 0, sender.output());
    // Released, not expired.
    const { fence, is_held } = await lease(fixture);
    assert.ok(fence > held || !is_held, "the lease is released");
    workers[workers.indexOf(sender)] = await fixture.startWorker();
  }
  await fixture.setRate(500);
  await fixture.awaitStatus(campaign_id, "completed");
  const log = await fixture.stub.log();
  const gaps_ms = log.slice(1).map(({ at }, i) => at - log[i]!.at);
  const states = await fixture.states(campaign_id);
  console.log(
    `${stops} stops, ${JSON.stringify(states)}, longest pause ${Math.max(...gaps_ms)} ms`,
  );
  assert.deepEqual(states, { accepted: recipients });
  await fixture.checkInvariants();
});

test("a sender that is frozen past its lease and resumed writes nothing stale and sends nothing again", async () => {
  await using fixture = await openChatDrillFixture({
    rate_per_second: 30,
    stub: { delay_ms: 1_000, callback_url: null },
    env: { LEASE_SECONDS: "4" },
  });
  const campaign_id = await fixture.createCampaign(phonesOf(recipients));
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await awaitRequests(fixture, 20);
  const unknown = () =>
    fixture.query(`select id, dispatches, dispatched_at, provider_message_id from chat_recipients
      where state = 'unknown' order by id`);
  const unknown_counts: number[] = [];
  for (let round = 0; round < 2; round++) {
    const frozen = await awaitSender(fixture, workers);
    const held = (await lease(fixture)).fence;
    frozen.kill("SIGSTOP");
    // Longer than the lease: the other worker has acquired it and sends.
    await eventually(async () => (await lease(fixture)).fence > held);
    const { fence: taken } = await lease(fixture);
    const other = await awaitSender(
      fixture,
      workers.filter((worker) => worker !== frozen),
    );
    await awaitRequests(fixture, 20);
    const left = await unknown();
    assert.ok(left.length > 0, "messages were in flight at the freeze");
    unknown_counts.push(left.length);
    const resumed_at = await resume(fixture, frozen);
    // It looks for work again, so it has handled everything that was pending in it.
    await eventually(async () => {
      const polls = await fixture.query(
        "select from pg_stat_activity where application_name = $1 and query_start > $2 and query like '%due%'",
        [frozen.name, resumed_at],
      );
      return polls.length > 0;
    });
    await awaitRequests(fixture, 20);
    const now_unknown = await unknown();
    const { name } = await awaitSender(fixture, workers);
    // On a busy machine the lease may have been lost again, which changes what is unknown.
    if ((await lease(fixture)).fence > taken) continue;
    // It records the results of its messages only when it holds the lease again.
    assert.deepEqual(now_unknown, left);
    assert.equal(name, other.name);
  }
  await fixture.setRate(500);
  await eventually(async () => ((await fixture.states(campaign_id))["queued"] ?? 0) === 0);
  await eventually(async () => !((await fixture.states(campaign_id))["dispatching"] ?? 0));
  console.log(
    `2 freezes with ${unknown_counts.join(", ")} messages unknown, ${JSON.stringify(await fixture.states(campaign_id))}`,
  );
  await fixture.checkInvariants();
  assert.deepEqual(fixture.crashes(), []);
});

/** Resumes a frozen worker; returns the database's time before that. */
async function resume(fixture: ChatDrillFixture, worker: Worker): Promise<Date> {
  const [row] = await fixture.query<{ now: Date }>("select clock_timestamp() as now");
  worker.kill("SIGCONT");
  return row!.now;
}
