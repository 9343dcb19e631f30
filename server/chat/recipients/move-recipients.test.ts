import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { makeAccount, makeCredits } from "../../../test/support/account-factory.ts";
import type { App } from "../../engine/app.ts";
import { openNotifications } from "../../engine/notifications.ts";
import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { openDatabase } from "../../lib/database/database.ts";
import { openLog } from "../../lib/log.ts";
import { localOutgoing } from "../../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../../test/support/tone-speech.ts";
import { testSecrets } from "../../../test/support/secrets.ts";

const log = openLog("silent", { readable: false });
let database: TestDatabase;
let app: App;

before(async () => {
  database = await cloneDatabase();
  const db = openDatabase(database.url, log);
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
after(async () => {
  await app.db.close();
  await app.notifications.close();
  await database.drop();
});

test("a query plan cached on an empty table still reads only the moved recipients of a large one", async () => {
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 5_000 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const client = await app.db.pool.connect();
  const move = async (campaign_id: number, from: number, to: number) => {
    const { rows } = await client.query<{ id: number }>(
      `select id from chat_move_recipients_json($1, 'sender', (
         select coalesce(json_agg(json_build_object('campaign_id', $2::bigint, 'id', i,
           'dispatches', 0, 'state', 'dispatching')), '[]')
         from generate_series($3::bigint, $4::bigint) i), now())`,
      [account.account_id, campaign_id, from, to],
    );
    return rows.length;
  };
  const rowsByPrimaryKey = async () => {
    await client.query("select pg_stat_force_next_flush()");
    const { rows } = await client.query<{ count: number }>(
      "select idx_tup_read as count from pg_stat_all_indexes where indexrelname = 'chat_recipients_pkey'",
    );
    return rows[0]!.count;
  };
  assert.equal(await move(1, 1, 10), 0);
  const phones = Array.from({ length: 5_000 }, (_, i) => ({ phone: String(919_800_000_000 + i) }));
  const campaign = await makeChatCampaign(app, account, number, template, phones);
  const { rows } = await client.query<{ first: number }>(
    "select min(id) as first from chat_recipients where account_id = $1 and campaign_id = $2",
    [account.account_id, campaign],
  );
  const { first } = rows[0]!;
  const so_far = await rowsByPrimaryKey();
  assert.equal(await move(campaign, first, first + 99), 100);
  const read = (await rowsByPrimaryKey()) - so_far;
  client.release();
  // Each recipient is read twice: to lock it and to update it.
  assert.ok(read >= 100 && read <= 1_000, `${read} rows`);
});
