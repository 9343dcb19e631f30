import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { makeCall } from "../../../../test/support/call-factory.ts";
import { testClock } from "../../../../test/support/clock.ts";
import { rowsRead } from "../../../../test/support/rows-read.ts";
import { cloneDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { openDatabase, type Database } from "../../../lib/database/database.ts";
import { openLog } from "../../../lib/log.ts";
import type { App } from "../../../engine/app.ts";
import { claimCalls, findWaiting } from "./leader-statements.ts";

const clock = testClock();
let database: TestDatabase;
let db: Database;

before(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
});
after(async () => {
  await db.close();
  await database.drop();
});

test("two node leaders that claim calls to the same customers get each customer once, without a deadlock", async () => {
  const app = { db, clock };
  const account = await makeCallingAccount(app, { credits: 2_000 });
  const nodes = [await makeNode(app), await makeNode(app)];
  const trunk_id = await makeTrunk(app, nodes);
  const { account_id } = account;
  const of = { account_id, trunk_id, fence: 1, take: 20 };
  const claimOn = (node_id: number) => claimCalls(db.pool, { ...of, node_id }, clock.now());
  for (let round = 0; round < 20; round++) {
    const phones = Array.from({ length: 20 }, (_, i) => String(919_800_000_000 + round * 100 + i));
    for (const [i, node_id] of nodes.entries()) {
      const inOrder = i === 0 ? phones : phones.toReversed();
      const place = { node_id, trunk_id };
      for (const to_phone of inOrder) await makeCall(app, account, { place, call: { to_phone } });
    }
    const claimed = (await Promise.all(nodes.map(claimOn))).flat();
    const taken = claimed.filter(({ customer_taken }) => !customer_taken);
    assert.deepEqual(taken.map(({ call }) => call.to_phone).toSorted(), phones);
  }
});

test("a node leader finds and claims an account's calls without reading those that another account queued before", async () => {
  const app = { db, clock } as unknown as App;
  const [busy, other] = [await makeCallingAccount(app), await makeCallingAccount(app)];
  const node_id = await makeNode(app);
  const trunk_id = await makeTrunk(app, [node_id]);
  const place = { node_id, trunk_id };
  const queued = 5_000;
  const first = await makeCall(app, busy, { place });
  await db.pool.query(
    `insert into calls (account_id, campaign_id, attempt, node_id, trunk_id, from_number, to_number, to_phone, due_at, queued_at)
     select c.account_id, c.campaign_id, 1 + n, c.node_id, c.trunk_id, c.from_number, c.to_number, c.to_phone, c.due_at, c.queued_at
     from calls c, generate_series(1, $3::int) n where c.account_id = $1 and c.id = $2`,
    [busy.account_id, first.id, queued],
  );
  const scheduled = new Date(clock.now().getTime() + 60_000);
  const last = await makeCall(app, other, { place });
  await makeCall(app, other, {
    place: { ...place, trunk_id: await makeTrunk(app, [node_id]) },
    call: { due_at: scheduled },
  });
  await db.pool.query("analyze calls");
  const found = await rowsRead(app, async ({ db: { pool } }) => {
    const waiting = await findWaiting(pool, [node_id, clock.now()]);
    assert.deepEqual(
      waiting,
      [busy, other].map(({ account_id }) => ({ account_id, trunk_id })),
    );
  });
  assert.ok(found < 1_100, `read ${found} rows`);
  const claimed = await rowsRead(app, async ({ db: { pool } }) => {
    const of = { ...place, account_id: other.account_id, fence: 1, take: 20 };
    const calls = await claimCalls(pool, of, clock.now());
    assert.deepEqual(
      calls.map(({ call }) => call.id),
      [last.id],
    );
  });
  assert.ok(claimed < 500, `read ${claimed} rows`);
});
