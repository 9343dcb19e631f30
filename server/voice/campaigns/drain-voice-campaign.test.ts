import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { openStatementsRead } from "../../../test/support/statements-read.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { drainVoiceCampaign } from "./drain-voice-campaign.ts";

let api: TestApi;
let watch: ReturnType<typeof openStatementsRead>;
before(async () => {
  api = await startApi();
  watch = openStatementsRead(api.app.db.pool);
});
after(() => api.close());

test("each batch of a cancelled campaign reads only its own recipients, whatever their zones, priority and time", async () => {
  const account = await makeAccount(api.app);
  const { account_id } = account;
  const { id } = await makeVoiceCampaign(api.app, account, { campaign: { state: "cancelled" } });
  const recipients = 10_000;
  await api.app.db.pool.query(
    `insert into voice_recipients
       (account_id, campaign_id, id, number, phone, state, due_at, attempts, callbacks, time_zones)
     select $1, $2, n, '9' || n, '919' || n, 'waiting', now() + n % 7 * interval '1 min', n % 3, n % 2,
       (array['', 'Asia/Calcutta', 'Europe/Berlin&Europe/Paris'])[1 + n % 3]
     from generate_series(2, $3::int) n`,
    [account_id, id, recipients],
  );
  await api.app.db.pool.query("analyze voice_recipients");
  const { statements } = await watch(() =>
    drainVoiceCampaign(
      api.app,
      { account_id, subject: String(id) },
      new AbortController().signal,
      60_000,
    ),
  );
  const left = await api.app.db.query
    .selectFrom("voice_recipients")
    .select("id")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .where("state", "<>", "cancelled")
    .execute();
  assert.deepEqual(left, []);
  const batches = statements.filter(({ text }) => text.includes("update voice_recipients"));
  const read = batches.reduce((sum, batch) => sum + batch.read, 0);
  // Each is found once, and updated once by its key.
  assert.ok(read < 2.5 * recipients, `read ${read} rows`);
});
