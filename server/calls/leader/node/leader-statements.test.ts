import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { makeCall } from "../../../../test/support/call-factory.ts";
import { testClock } from "../../../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { openDatabase, type Database } from "../../../lib/database/database.ts";
import { openLog } from "../../../lib/log.ts";
import { claimCalls } from "./leader-statements.ts";

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
