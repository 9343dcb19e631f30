import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { startApi } from "../../../test/support/api.ts";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { makeNode, makePhoneNumber, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { findDefaultCallerId } from "./choose-trunk.ts";
import { defaultCallerIds } from "./default-caller-ids.ts";

test("the default caller IDs of several trunks are those that the function default_caller_id returns", async (t) => {
  const { app, close } = await startApi();
  t.after(close);
  const mine = await makeAccount(app);
  const other = await makeAccount(app);
  const [owned, assigned, free, free_too] = [
    "918000000001",
    "918000000002",
    "918000000003",
    "8000000004",
  ] as const;
  await makePhoneNumber(app, mine, owned);
  await makePhoneNumber(app, other, assigned);
  const node = await makeNode(app);
  const trunk_ids: number[] = [];
  for (const caller_ids_only of [false, true])
    for (const only of [{}, { only_account_id: mine.account_id }])
      for (const caller_ids of [[], [free, owned], [assigned, free, free_too], [assigned]])
        trunk_ids.push(await makeTrunk(app, [node], { caller_ids_only, caller_ids, ...only }));
  await makeTrunk(app, [node], { caller_ids: [free] });

  const seen = new Set<string | null>();
  for (const { account_id } of [mine, other]) {
    const { rows } = await sql<{ trunk_id: number; caller_id: string | null }>`
      ${defaultCallerIds(account_id, sql`${trunk_ids}::bigint[]`)} order by t.id`.execute(
      app.db.query,
    );
    const expected: typeof rows = [];
    for (const trunk_id of trunk_ids) {
      const caller_id = await findDefaultCallerId(app.db.pool, account_id, trunk_id);
      expected.push({ trunk_id, caller_id });
      seen.add(caller_id);
    }
    assert.deepEqual(rows, expected);
  }
  assert.deepEqual(seen, new Set([null, owned, assigned, free]));
});
