import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import {
  openChatDrillFixture,
  phonesOf,
  type ChatDrillFixture,
  type Worker,
} from "./chat-drill-fixture.ts";

const recipients = 1_200;
const kills = 10;
/** Slow enough that messages are left until the last kill, unless the machine is slower still. */
const rate_per_second = 90;
/** With fewer queued recipients, the kills end. */
const left_min = 300;

const countInFlight = async (fixture: ChatDrillFixture): Promise<number> => {
  const [row] = await fixture.query<{ count: number }>(
    "select count(*)::int from chat_recipients where state = 'dispatching'",
  );
  return row!.count;
};

/** Freezes the sender at a moment when messages are in flight, and returns it. */
async function freezeInFlight(
  fixture: ChatDrillFixture,
  workers: readonly Worker[],
): Promise<Worker> {
  for (;;) {
    let sender: Worker | null = null;
    await eventually(async () => (sender = await fixture.findSender(workers)) !== null);
    sender!.kill("SIGSTOP");
    if ((await countInFlight(fixture)) > 0) return sender!;
    sender!.kill("SIGCONT");
  }
}

test("no message is sent twice or lost while senders are killed at random, and sending recovers", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const random = seededRandom(seed);
  const began = performance.now();
  await using fixture = await openChatDrillFixture({
    rate_per_second,
    stub: { delay_ms: 40 },
    env: { LEASE_SECONDS: "2", CHAT_SETTLE_SECONDS: "5" },
  });
  await fixture.stub.setErrors([{ kind: "silent", probability: 0.05 }], seed);
  const campaign_id = await fixture.createCampaign(phonesOf(recipients));
  const workers = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await eventually(async () => (await fixture.stub.counts()).requests > 20);

  let interrupted = 0;
  let killed = 0;
  const left = async () => (await fixture.states(campaign_id))["queued"] ?? 0;
  while (killed < kills && (await left()) > left_min) {
    await pause(random() * 1_000);
    let working: Worker[] = [];
    await eventually(async () => (working = await fixture.findWorking(workers)).length > 0);
    const any = working[Math.floor(random() * working.length)]!;
    const isAimed = random() < 0.4;
    // First the sender with messages in flight; then in four of ten kills the sender, else any worker.
    const victim =
      interrupted === 0
        ? await freezeInFlight(fixture, workers)
        : ((isAimed ? await fixture.findSender(working) : null) ?? any);
    victim.kill("SIGKILL");
    // Before another sender takes over, which a slow start of a worker outlasts.
    interrupted += await countInFlight(fixture);
    workers[workers.indexOf(victim)] = await fixture.startWorker();
    await victim.dispose();
    killed += 1;
  }
  const killed_at = Date.now();
  const drilled_s = (performance.now() - began) / 1_000;
  const { by_outcome } = await fixture.stub.counts();
  assert.ok(interrupted > 0, "messages were in flight at the kills");

  // Recovered: no message is dispatching under a killed sender, none unknown is overdue, and sending goes on.
  await eventually(async () => {
    const stale = await fixture.query(
      `select from chat_recipients
       where (state = 'dispatching' and dispatched_at <= $1) or (state = 'unknown' and due_at <= $1) limit 1`,
      [new Date(killed_at)],
    );
    if (stale.length > 0) return false;
    return (await fixture.stub.log()).at(-1)!.at > killed_at || (await left()) === 0;
  });
  const recovery_ms = Date.now() - killed_at;
  await fixture.setRate(500);
  await fixture.awaitStatus(campaign_id, "completed");
  await fixture.awaitWebhooks();
  const states = await fixture.states(campaign_id);
  console.log(
    `${killed} kills in ${Math.round(drilled_s)} s with ${interrupted} messages in flight, ` +
      `${JSON.stringify(by_outcome)} by the last; recovered after ${recovery_ms} ms; ${JSON.stringify(states)}`,
  );
  await fixture.checkInvariants();
  const ended = new Set(["accepted", "read", "unresolved"]);
  assert.deepEqual(
    Object.keys(states).filter((state) => !ended.has(state)),
    [],
  );
});
