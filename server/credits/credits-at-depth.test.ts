import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, makeCredits } from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { rowsRead } from "../../test/support/rows-read.ts";
import { findCredits } from "./credits.ts";
import { reserveCredits } from "./reserve-credits.ts";

const reservations = 100;

let api: TestApi;

before(async () => {
  api = await startApi();
});
after(() => api.close());

test("credits read each transfer once, also of an account that the statistics of the table do not know", async () => {
  const { app } = api;
  const heavy = await makeAccount(app);
  const small = await makeAccount(app);
  await makeCredits(app, heavy, { chat: 1 });
  await app.db.pool.query(
    `insert into credit_transfers (account_id, kind, type, from_ledger_account, to_ledger_account, amount, at)
     select account_id, kind, type, from_ledger_account, to_ledger_account, amount, at
     from credit_transfers, generate_series(1, 50000) where account_id = $1`,
    [heavy.account_id],
  );
  await app.db.pool.query("analyze credit_transfers");
  await makeCredits(app, small, { chat: reservations });
  for (let i = 0; i < reservations; i++)
    await app.db.query
      .transaction()
      .execute((tx) =>
        reserveCredits(
          tx,
          { account_id: small.account_id, kind: "chat", subject: `depth:${i}`, amount: 1 },
          new Date(),
        ),
      );
  const read = await rowsRead(app, async (in_transaction) => {
    const { chat } = await findCredits(in_transaction.db.query, small.account_id);
    assert.equal(chat.reserved, reservations);
  });
  assert.ok(read < 5 * reservations, `read ${read} rows`);
});
