import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-makers.ts";
import { eventually } from "../../test/support/eventually.ts";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/makers.ts";

const rows = 20_000;
let api: TestApi;
let account: TestAccount;
let campaign_id: number;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: rows });
  const number = await makeChatNumber(api.app, account);
  const template = await makeChatTemplate(api.app, account, number);
  const people = Array.from({ length: rows }, (_, i) => ({ phone: String(919_800_000_000 + i) }));
  campaign_id = await makeChatCampaign(api.app, account, number, template, people);
  // Some 60 MB: more than all sockets and streams between the two would take without a reader.
  await api.app.db.pool.query(
    `update chat_recipients set variables = jsonb_build_object('1', repeat('x', 3000))
     where account_id = $1 and campaign_id = $2`,
    [account.account_id, campaign_id],
  );
});
after(() => api.close());

test("while its reader stops, an export asks for no more pages and leaves no transaction open; then it goes on to the end", async () => {
  const { pool } = api.app.db;
  let asked = 0;
  pool.on("acquire", () => asked++);
  const path = `/api/v1/chat/campaigns/${campaign_id}/recipients/export`;
  const headers = { authorization: `Bearer ${account.token}` };
  const answer = await fetch(`${api.url}${path}`, { headers });
  const reader = answer.body!.getReader();
  let lines = 0;
  const read = async () => {
    const { done, value } = await reader.read();
    const bytes = Buffer.from(value ?? []);
    for (let at = -1; (at = bytes.indexOf(10, at + 1)) >= 0;) lines++;
    return !done;
  };
  await read();
  await eventually(() => asked > 2);
  // Whenever one looks: a page is read by one statement, and what is between server and reader holds few.
  const { rows: open } = await pool.query<{ state: string }>(
    `select state from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`,
  );
  assert.deepEqual(open, []);
  const asked_unread = asked;
  while (await read());
  assert.equal(lines, rows + 1);
  assert.ok(asked_unread * 2 < asked, `${asked_unread} of ${asked} pages were asked for unread`);
});
