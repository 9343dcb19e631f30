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
import { seededRandom } from "../support/provider-stub/faults.ts";
import { spawnService } from "../support/service-process.ts";

const signals = ["SIGKILL", "SIGTERM", "SIGSTOP", "SIGKILL"] as const;
/** An attempt that a busy machine let time out may bring a third one, five minutes after the second. */
const patience_s = 480;
/** What happens on each call that the drill tells of. */
const life: readonly EventType[] = [
  "call.initiated",
  "call.ringing",
  "call.answered",
  "call.completed",
];

/** Tells of one call after the other, in a transaction each, of which one in ten is rolled back, until told to stop. */
async function tellOfCalls(
  db: Database,
  account_id: number,
  random: () => number,
  told: Set<string>,
) {
  const stopped = new AbortController();
  const tellOne = async (call_id: number, type: EventType) => {
    const fails = random() < 0.1;
    const telling = db.query.transaction().execute(async (tx) => {
      const data = JSON.stringify({ call_id, campaign_id: 0 });
      const occurred_at = new Date();
      await tx.insertInto("events").values({ account_id, type, occurred_at, data }).execute();
      if (fails) throw new Error("rolled back");
    });
    await telling.then(
      () => told.add(`${call_id} ${type}`),
      () => {},
    );
  };
  const running = (async () => {
    for (let call_id = 1; !stopped.signal.aborted; call_id++) {
      for (const type of life) await tellOne(call_id, type);
      await pause(random() * 10);
    }
  })();
  return async () => {
    stopped.abort();
    await running;
  };
}

/** The first arrivals: each piece of news once, in the order in which they came. */
function firstArrivals({ received }: CallbackReceiver): string[] {
  return [...new Set(received.map(({ type, data }) => `${data.call_id} ${type}`))];
}

function assertInOrder(arrivals: readonly string[], told: ReadonlySet<string>): void {
  const byCall = (all: Iterable<string>) => Object.groupBy([...all], (news) => news.split(" ")[0]!);
  const expected = byCall(told);
  for (const [call, news] of Object.entries(byCall(arrivals)))
    assert.deepEqual(news, expected[call], `call ${call}`);
}

test("while processes are killed, frozen and stopped, each event arrives at every endpoint under one id, nothing else does, and each call's news in order", async () => {
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
  // Refuses one in five when it comes first, and takes what comes again.
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
  const told = new Set<string>();
  const stopTelling = await tellOfCalls(db, account_id, random, told);

  for (const signal of signals) {
    const before = receivers[0]!.received.length;
    await eventually(() => receivers[0]!.received.length > before);
    await pause(random() * 300);
    const victim = Math.floor(random() * workers.length);
    workers[victim]!.kill(signal);
    // Past its lease: another delivers meanwhile.
    if (signal === "SIGSTOP") await pause(3_000);
    if (signal === "SIGSTOP") workers[victim]!.kill("SIGCONT");
    else {
      await workers[victim]!.dispose();
      workers[victim] = await spawnService(env);
    }
  }
  await stopTelling();
  await eventually(async () => {
    const left = await db.pool.query(
      `select from events where seq is null union all
       select from callback_deliveries where state = 'pending' limit 1`,
    );
    return left.rows.length === 0;
  }, patience_s);
  await disposeWorkers();

  const failed = await db.pool.query("select from callback_deliveries where state <> 'delivered'");
  assert.equal(failed.rows.length, 0, "every delivery got through");
  for (const [i, receiver] of receivers.entries()) {
    const arrivals = firstArrivals(receiver);
    assert.deepEqual(new Set(arrivals), told);
    assertInOrder(arrivals, told);
    const ids = new Map<string, Set<unknown>>();
    for (const { type, data, headers } of receiver.received) {
      const news = `${data.call_id} ${type}`;
      ids.set(news, (ids.get(news) ?? new Set()).add(headers["webhook-id"]));
    }
    for (const [news, seen] of ids)
      assert.equal(seen.size, 1, `${news} came under ${seen.size} ids`);
    console.log(
      `endpoint ${i + 1}: ${told.size} events, ${receiver.received.length - told.size} came again`,
    );
  }
});
