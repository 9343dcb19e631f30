import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount } from "../../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { rowsRead } from "../../../../test/support/rows-read.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { findTimeZones } from "./store-recipients.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("finds the time zones of a few recipients without reading the account's other contacts, and of many", async () => {
  const account = await makeAccount(api.app);
  const { account_id, workspace_id } = account;
  const { pool } = api.app.db;
  await pool.query(
    `insert into contacts (account_id, workspace_id, phone, name, phone_e164, time_zone, created_at, updated_at)
     select $1, $2, i, 'Ann', '+' || i, 'Europe/London', now(), now()
     from generate_series(919000000000, 919000009999) i`,
    [account_id, workspace_id],
  );
  // Written without the 9 of its mobile.
  await pool.query(
    "update contacts set phone_e164 = '+551187654321' where account_id = $1 and phone = '919000000001'",
    [account_id],
  );
  await pool.query("analyze contacts");
  const phones = ["919000000000", "5511987654321", "919999999999"];
  const campaign = await makeVoiceCampaign(api.app, account, {
    recipients: phones.map((phone) => ({ phone, time_zones: "Asia/Calcutta" })),
  });
  const of = { account_id, campaign_id: campaign.id };
  for (const [total, isFew] of [
    [phones.length, true],
    [1_000_000, false],
  ] as const) {
    let zones: string[] = [];
    const rows = await rowsRead(api.app, async (app) => {
      zones = await findTimeZones(app.db.query as Tx, of, total);
    });
    assert.deepEqual(zones.toSorted(), ["Asia/Calcutta", "Europe/London"]);
    assert.equal(rows < 50, isFew, `${rows} rows`);
  }
});
