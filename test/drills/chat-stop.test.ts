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

/** Waits until so many more messages came to the provider. */
async function moves(fixture: ChatDrillFixture, more: number): Promise<void> {
  const goal = (await fixture.stub.counts()).requests + more;
  await eventually(async () => (await fixture.stub.counts()).requests >= goal);
}

async function lease(fixture: ChatDrillFixture): Promise<{ fence: number; is_held: boolean }> {
  const [row] = await fixture.ask<{ fence: number; is_held: boolean }>(
    `select fence::int, holder is not null as is_held from leases where name = 'chat_sender:' || $1`,
    [fixture.number_id],
  );
  return row!;
}

async function awaitHolder(fixture: ChatDrillFixture, among: readonly Worker[]): Promise<Worker> {
  let holder: Worker | null = null;
  await eventually(async () => (holder = await fixture.findHolder(among)) !== null);
  return holder!;
}

test("a sender that is told to stop leaves no outcome unknown, and another goes on at once", async () => {
  // No reports: what a stop left unknown would stay so. Slow enough that a busy machine comes to all stops.
  await using fixture = await openChatDrillFixture({
    rate_per_second: 40,
    stub: { delay_ms: 200, callback_url: null },
  });
  const campaign_id = await fixture.createCampaign(phonesOf(recipients));
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  const stops = 5;
  for (let stop = 0; stop < stops; stop++) {
    await moves(fixture, 20);
    const holder = await awaitHolder(fixture, workers);
    const { fence: held } = await lease(fixture);
    holder.kill("SIGTERM");
    assert.equal(await holder.ended(), 0, holder.output());
    // Handed over, not run out.
    const { fence, is_held } = await lease(fixture);
    assert.ok(fence > held || !is_held, "the lease is given back");
    workers[workers.indexOf(holder)] = await fixture.startWorker();
  }
  await fixture.setRate(500);
  await fixture.awaitStatus(campaign_id, "completed");
  const log = await fixture.stub.log();
  const gaps_ms = log.slice(1).map(({ at }, i) => at - log[i]!.at);
  const states = await fixture.states(campaign_id);
  console.log(
    `${stops} stops, ${JSON.stringify(states)}, longest silence ${Math.max(...gaps_ms)} ms`,
  );
  assert.deepEqual(states, { accepted: recipients });
  await fixture.checkBooks();
});

test("a sender frozen past its lease and thawed writes nothing stale and sends nothing again", async () => {
  await using fixture = await openChatDrillFixture({
    rate_per_second: 30,
    stub: { delay_ms: 1_000, callback_url: null },
    env: { LEASE_SECONDS: "4" },
  });
  const campaign_id = await fixture.createCampaign(phonesOf(recipients));
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await moves(fixture, 20);
  const unknown = () =>
    fixture.ask(`select id, dispatches, dispatched_at, provider_message_id from chat_recipients
      where state = 'unknown' order by id`);
  const unknown_counts: number[] = [];
  for (let round = 0; round < 2; round++) {
    const frozen = await awaitHolder(fixture, workers);
    const held = (await lease(fixture)).fence;
    frozen.kill("SIGSTOP");
    // Longer than the lease: the other has taken it, and sends.
    await eventually(async () => (await lease(fixture)).fence > held);
    const { fence: taken } = await lease(fixture);
    const other = await awaitHolder(
      fixture,
      workers.filter((worker) => worker !== frozen),
    );
    await moves(fixture, 20);
    const left = await unknown();
    assert.ok(left.length > 0, "messages were under way at the freeze");
    unknown_counts.push(left.length);
    const thawed_at = await thaw(fixture, frozen);
    // It asks for work again, so it has gone through all that waited in it.
    await eventually(async () => {
      const asked = await fixture.ask(
        "select from pg_stat_activity where application_name = $1 and query_start > $2 and query like '%due%'",
        [frozen.name, thawed_at],
      );
      return asked.length > 0;
    });
    await moves(fixture, 20);
    const now_unknown = await unknown();
    const { name } = await awaitHolder(fixture, workers);
    // On a busy machine the lease may have been lost once more; then more is unknown, or less.
    if ((await lease(fixture)).fence > taken) continue;
    // What it learnt of its messages it keeps for when it holds the lease again.
    assert.deepEqual(now_unknown, left);
    assert.equal(name, other.name);
  }
  await fixture.setRate(500);
  await eventually(async () => ((await fixture.states(campaign_id))["queued"] ?? 0) === 0);
  await eventually(async () => !((await fixture.states(campaign_id))["dispatching"] ?? 0));
  console.log(
    `2 freezes with ${unknown_counts.join(", ")} messages unknown, ${JSON.stringify(await fixture.states(campaign_id))}`,
  );
  await fixture.checkBooks();
  assert.deepEqual(fixture.casualties(), []);
});

/** Returns the database's time before it. */
async function thaw(fixture: ChatDrillFixture, worker: Worker): Promise<Date> {
  const [row] = await fixture.ask<{ now: Date }>("select clock_timestamp() as now");
  worker.kill("SIGCONT");
  return row!.now;
}
