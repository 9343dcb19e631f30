import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, makeCredits } from "../../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../../test/support/chat-factory.ts";
import { rowsRead } from "../../../../test/support/rows-read.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { insertRecipients, removeLinkedDuplicates } from "./store-recipients.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("removes the linked duplicates of a few recipients without reading the account's other links", async () => {
  const account = await makeAccount(api.app);
  const { account_id } = account;
  await makeCredits(api.app, account, { chat: 100 });
  const number = await makeChatNumber(api.app, account);
  const template_id = await makeChatTemplate(api.app, account, number);
  const { pool } = api.app.db;
  await pool.query(
    `insert into person_bsuids (account_id, bsuid, phone_key)
     select $1, 'IN.' || i, phone_key(i::text) from generate_series(919000000000, 919000009999) i`,
    [account_id],
  );
  await pool.query(
    "update person_bsuids set phone_key = phone_key($2) where account_id = $1 and bsuid = $3",
    [account_id, "919000000001", "IN.919000000002"],
  );
  await pool.query("analyze person_bsuids");
  const campaign_id = await makeChatCampaign(api.app, account, number, template_id, [
    { phone: "919000000009" },
  ]);
  const key = { account_id, campaign_id };
  const of = [
    "919000000000",
    "IN.919000000000",
    "IN.919000000001",
    "IN.919000000002",
    "IN.919000000003",
    "IN.unlinked",
  ];
  let removed = 0;
  let left: (string | null)[] = [];
  const rows = await rowsRead(api.app, async (app) => {
    const tx = app.db.query as Tx;
    const recipients = of.map((phone) => ({ phone, variables: null }));
    await insertRecipients(tx, key, recipients);
    removed = await removeLinkedDuplicates(tx, key);
    const found = await tx
      .selectFrom("chat_recipients")
      .select(["phone", "bsuid"])
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign_id)
      .orderBy("id")
      .execute();
    left = found.map(({ phone, bsuid }) => phone ?? bsuid);
  });
  assert.equal(removed, 2);
  assert.deepEqual(left, [
    "919000000009",
    "919000000000",
    "IN.919000000001",
    "IN.919000000003",
    "IN.unlinked",
  ]);
  assert.ok(rows < 100, `${rows} rows`);
});
