import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { sql } from "kysely";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { openDatabase, type Tx } from "../lib/database/database.ts";
import { openLog } from "../lib/log.ts";
import type { App } from "./app.ts";
import { openNotifications } from "./notifications.ts";
import { recordEvent } from "./record-event.ts";
import { relayEvents } from "./relay-events.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const log = openLog("silent", { readable: false });
const going = new AbortController().signal;
let database: TestDatabase;
let app: App;

before(async () => {
  database = await cloneDatabase();
  const db = openDatabase(database.url, log, { connections: 40 });
  app = {
    db,
    log,
    clock: systemClock,
    random: systemRandom,
    notifications: openNotifications(database.url, log),
    chatDrivers: {},
    voiceDrivers: {},
    aiAgentDrivers: {},
    speech: toneSpeech,
    outgoing: localOutgoing,
    secrets: testSecrets,
  };
});
afterEach(() => app.db.pool.query("truncate events, event_heads"));
after(async () => {
  await app.db.close();
  await app.notifications.close();
  await database.drop();
});

const record = (tx: Tx, account_id: number, n: number) => {
  const data = { n, endpoint_id: 1, message: "" };
  return recordEvent(tx, { account_id, type: "callback.test", occurred_at: new Date(), data });
};
const fill = (accounts: number, each: number) =>
  app.db.pool.query(
    `insert into events (account_id, type, occurred_at, data)
     select a, 'lead.created', now(), json_build_object('n', n)
     from generate_series(1, $2::int) n, generate_series(1, $1::int) a`,
    [accounts, each],
  );
const sequenced = async (account_id: number) =>
  (
    await app.db.query
      .selectFrom("events")
      .select(["id", "seq", "data"])
      .where("account_id", "=", account_id)
      .where("seq", "is not", null)
      .orderBy("seq")
      .execute()
  ).map(({ id, seq, data }) => ({ id, seq, n: (data as { n: number }).n }));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const drain = async () => {
  while ((await relayEvents(app, going)) > 0);
};

test("numbers each account's events 1, 2, 3 … in the order they were recorded", async () => {
  await fill(3, 2_500);
  assert.equal(await relayEvents(app, going), 3_000);
  await drain();
  for (const account_id of [1, 2, 3]) {
    const events = await sequenced(account_id);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      upTo(2_500),
    );
    assert.deepEqual(
      events.map(({ n }) => n),
      upTo(2_500),
    );
  }
  assert.equal(await relayEvents(app, going), 0);
});

test("one iteration reaches every account, whatever the backlog of one", async () => {
  await fill(1, 5_000);
  await fill(1_200, 1);
  assert.equal(await relayEvents(app, going), 1_000 + 1_199);
  assert.equal((await sequenced(1_200)).length, 1);
});

test("an event of a transaction that commits late gets a higher seq than events relayed before, though its id is lower", async () => {
  await app.db.query.transaction().execute(async (tx) => {
    await record(tx, 1, 1);
    await app.db.query.transaction().execute((other) => record(other, 1, 2));
    assert.equal(await relayEvents(app, going), 1);
  });
  assert.equal(await relayEvents(app, going), 1);
  const events = await sequenced(1);
  assert.deepEqual(
    events.map(({ n }) => n),
    [2, 1],
  );
  assert.ok(events[0]!.id > events[1]!.id);
});

test("skips an account that another relay has locked and continues with the others", async () => {
  await fill(3, 1);
  await drain();
  await fill(3, 10);
  await app.db.query.transaction().execute(async (tx) => {
    await sql`select from event_heads where account_id = 2 for update`.execute(tx);
    assert.equal(await relayEvents(app, going), 20);
  });
  assert.equal(await relayEvents(app, going), 10);
  assert.deepEqual(
    (await sequenced(2)).map(({ seq }) => seq),
    upTo(11),
  );
});

test("a relay that is rolled back changes neither seq nor head", async () => {
  await fill(1, 10);
  const rolled = app.db.query.transaction().execute(async (tx) => {
    await sql`select relay_events(1, 1000, now())`.execute(tx);
    throw new Error("rolled back");
  });
  await assert.rejects(rolled, /rolled back/);
  assert.deepEqual(await sequenced(1), []);
  await drain();
  assert.deepEqual(
    (await sequenced(1)).map(({ seq }) => seq),
    upTo(10),
  );
});

test("a stop ends an iteration after its running batches", async () => {
  await fill(100, 1);
  assert.equal(await relayEvents(app, AbortSignal.abort()), 0);
});

test("a reader that follows seq misses no event and sees no gap while long and short transactions write", async () => {
  const writing = new AbortController();
  let written = 0;
  const write = async (events: number, hold_ms: number) => {
    while (!writing.signal.aborted) await writeOnce(events, hold_ms);
  };
  const writeOnce = async (events: number, hold_ms: number) => {
    const writes = app.db.query.transaction().execute(async (tx) => {
      for (let i = 0; i < events; i++) {
        await record(tx, 1, i);
        await wait(hold_ms * Math.random());
      }
      if (Math.random() < 0.1) throw new Error("rolled back");
    });
    try {
      await writes;
      written += events;
    } catch (error) {
      assert.equal((error as Error).message, "rolled back");
    }
  };
  const relay = async () => {
    while (!writing.signal.aborted) if ((await relayEvents(app, going)) === 0) await wait(1);
  };
  const seen: number[] = [];
  const follow = async () => {
    const { rows } = await app.db.pool.query<{ seq: number }>(
      "select seq from events where account_id = 1 and seq > $1 order by seq limit 100",
      [seen.at(-1) ?? 0],
    );
    seen.push(...rows.map(({ seq }) => seq));
  };
  const writers = [
    ...upTo(8).map(() => write(1, 2)),
    ...upTo(4).map(() => write(3, 20)),
    ...upTo(2).map(() => write(10, 60)),
  ];
  const relays = [relay(), relay(), relay()];
  await eventually(async () => {
    await follow();
    return seen.length > 2_000;
  });
  writing.abort();
  await Promise.all([...writers, ...relays]);
  await drain();
  await eventually(async () => {
    await follow();
    return seen.length >= written;
  });
  assert.deepEqual(seen, upTo(written));
  // Proves that the case occurred: ids that committed out of order.
  const ids = (await sequenced(1)).map(({ id }) => id);
  assert.ok(ids.some((id, i) => i > 0 && id < ids[i - 1]!));
});

test("a plan made on an empty table still reads only the events without seq when most have one", async () => {
  const client = await app.db.pool.connect();
  const relay = () => client.query("select relay_events(1, 1000, now())");
  const rowsByPrimaryKey = async () => {
    await client.query("select pg_stat_force_next_flush()");
    const { rows } = await client.query<{ count: number }>(
      "select idx_tup_read as count from pg_stat_all_indexes where indexrelname = 'events_pkey'",
    );
    return rows[0]!.count;
  };
  await relay();
  await fill(1, 20_000);
  for (let batch = 0; batch < 20; batch++) await relay();
  await fill(1, 5);
  const so_far = await rowsByPrimaryKey();
  await relay();
  const read = (await rowsByPrimaryKey()) - so_far;
  client.release();
  // Only the five events to update are looked up.
  assert.ok(read >= 5 && read < 100, `${read} rows`);
});

test("accounts whose events cannot be relayed do not delay other accounts", async () => {
  const poisoned = [1, 2, 3, 4, 5];
  await fill(6, 1);
  await app.db.pool.query(
    `insert into callback_endpoints (account_id, kind, url, secret, created_at, updated_at)
     select a, 'account', 'http://127.0.0.1:1/', '', now(), now() from unnest($1::bigint[]) a`,
    [poisoned],
  );
  await app.db.pool.query(
    `update events set type = 'call.ringing', data = '{"call_id": "\\u0000"}' where account_id = any ($1)`,
    [poisoned],
  );
  assert.equal(await relayEvents(app, going), 1);
  assert.equal((await sequenced(6)).length, 1);
  await app.db.pool.query("truncate callback_endpoints cascade");
});
