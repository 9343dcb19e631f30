import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { systemClock } from "../../server/lib/clock.ts";
import { openDatabase, type Database } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import type { EventType } from "../../server/engine/event-catalogue.ts";
import { makeEndpoint } from "../support/callback-factory.ts";
import { openCallbackReceiver, type CallbackReceiver } from "../support/callback-receiver.ts";
import { cloneDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { makeAccount } from "../support/account-factory.ts";
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import { spawnService } from "../support/service-process.ts";

const signals = ["SIGKILL", "SIGTERM", "SIGSTOP", "SIGKILL"] as const;
/** A time-out on a busy machine may cause a third attempt, five minutes after the second. */
const deadline_s = 480;
/** The events that the drill records for each call. */
const call_events: readonly EventType[] = [
  "call.initiated",
  "call.ringing",
  "call.answered",
  "call.completed",
];

/** Records the events of one call after another, one transaction each; one in ten is rolled back. Returns how to stop it. */
async function recordEvents(
  db: Database,
  account_id: number,
  random: () => number,
  recorded: Set<string>,
) {
  const stopped = new AbortController();
  const recordOne = async (call_id: number, type: EventType) => {
    const fails = random() < 0.1;
    const committed = db.query.transaction().execute(async (tx) => {
      const data = JSON.stringify({ call_id, campaign_id: 0 });
      const occurred_at = new Date();
      await tx.insertInto("events").values({ account_id, type, occurred_at, data }).execute();
      if (fails) throw new Error("rolled back");
    });
    await committed.then(
      () => recorded.add(`${call_id} ${type}`),
      () => {},
    );
  };
  const running = (async () => {
    for (let call_id = 1; !stopped.signal.aborted; call_id++) {
      for (const type of call_events) await recordOne(call_id, type);
      await pause(random() * 10);
    }
  })();
  return async () => {
    stopped.abort();
    await running;
  };
}

/** Returns each received event once, in the order of its first arrival. */
function firstArrivals({ received }: CallbackReceiver): string[] {
  return [...new Set(received.map(({ type, data }) => `${data.call_id} ${type}`))];
}

/** Returns the events of which the endpoint got an attempt that ended without a response: it may not have arrived. */
async function findUnanswered(db: Database, url: string): Promise<ReadonlySet<string>> {
  const { rows } = await db.pool.query<{ call_id: number; type: string; at: Date; error: string }>(
    `select d.call_id, d.type, a.at, a.error
     from callback_endpoints c
     join callback_deliveries d on d.account_id = c.account_id and d.endpoint_id = c.id
     join callback_attempts a on a.account_id = d.account_id and a.delivery_id = d.id
     where c.url = $1 and a.status is null order by a.at`,
    [url],
  );
  if (rows.length > 0) console.log(`attempts without a response at ${url}:`, rows);
  return new Set(rows.map(({ call_id, type }) => `${call_id} ${type}`));
}

/** Asserts the order of each call's events: that of their first attempts, so those that may not have arrived are left out. */
function assertInOrder(
  arrivals: readonly string[],
  recorded: ReadonlySet<string>,
  unanswered: ReadonlySet<string>,
): void {
  const byCall = (all: Iterable<string>) =>
    Object.groupBy(
      [...all].filter((event) => !unanswered.has(event)),
      (event) => event.split(" ")[0]!,
    );
  const expected = byCall(recorded);
  for (const [call, events] of Object.entries(byCall(arrivals)))
    assert.deepEqual(events, expected[call], `call ${call}: ${events!.join(", ")}`);
}

test("while processes are killed, frozen and stopped, every endpoint receives every event under one ID, no other event, and the events of each call in order", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const random = seededRandom(seed);
  await using fixture = new AsyncDisposableStack();
  const database = await cloneDatabase();
  fixture.defer(() => database.drop());
  const db = openDatabase(database.url, openLog("silent", { readable: false }));
  fixture.defer(() => db.close());
  const app = { db, clock: systemClock };
  const { account_id } = await makeAccount(app);
  const receivers = await Promise.all([1, 2, 3].map(() => openCallbackReceiver()));
  fixture.defer(
    async () => void (await Promise.all(receivers.map((receiver) => receiver.close()))),
  );
  // Refuses one in five first attempts and accepts every retry.
  const arrived = new Set<unknown>();
  receivers[2]!.answer = (response, { headers }) => {
    const id = headers["webhook-id"];
    const refuses = !arrived.has(id) && random() < 0.2;
    arrived.add(id);
    response.writeHead(refuses ? 503 : 200).end();
  };
  for (const { url } of receivers) await makeEndpoint(app, { account_id }, { url });
  const env = {
    ROLES: "worker",
    DATABASE_URL: database.url,
    LEASE_SECONDS: "2",
    TRUNKLINE_SEED: "none",
    CALLBACK_ALLOW: "127.0.0.1",
  };
  const workers = await Promise.all([spawnService(env), spawnService(env)]);
  const disposeWorkers = async () => void (await Promise.all(workers.map((one) => one.dispose())));
  fixture.defer(disposeWorkers);
  const recorded = new Set<string>();
  const stopRecording = await recordEvents(db, account_id, random, recorded);

  for (const signal of signals) {
    const before = receivers[0]!.received.length;
    await eventually(() => receivers[0]!.received.length > before);
    await pause(random() * 300);
    const victim = Math.floor(random() * workers.length);
    workers[victim]!.kill(signal);
    // Longer than its lease: another worker delivers in the meantime.
    if (signal === "SIGSTOP") await pause(3_000);
    if (signal === "SIGSTOP") workers[victim]!.kill("SIGCONT");
    else {
      await workers[victim]!.dispose();
      workers[victim] = await spawnService(env);
    }
  }
  await stopRecording();
  await eventually(async () => {
    const left = await db.pool.query(
      `select from events where seq is null union all
       select from callback_deliveries where state = 'pending' limit 1`,
    );
    return left.rows.length === 0;
  }, deadline_s);
  await disposeWorkers();

  const failed = await db.pool.query("select from callback_deliveries where state <> 'delivered'");
  assert.equal(failed.rows.length, 0, "every delivery succeeded");
  for (const [i, receiver] of receivers.entries()) {
    const arrivals = firstArrivals(receiver);
    assert.deepEqual(new Set(arrivals), recorded);
    assertInOrder(arrivals, recorded, await findUnanswered(db, receiver.url));
    const ids = new Map<string, Set<unknown>>();
    for (const { type, data, headers } of receiver.received) {
      const event = `${data.call_id} ${type}`;
      ids.set(event, (ids.get(event) ?? new Set()).add(headers["webhook-id"]));
    }
    for (const [event, seen] of ids)
      assert.equal(seen.size, 1, `${event} arrived under ${seen.size} IDs`);
    console.log(
      `endpoint ${i + 1}: ${recorded.size} events, ${receiver.received.length - recorded.size} repeated requests`,
    );
  }
});
