import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startChatApi, type ChatApi } from "../../../test/contract/chat-api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";

let chat: ChatApi;
before(async () => {
  chat = await startChatApi();
});
after(() => chat.api.close());

test("a campaign never slips in beside the deactivation of its number", async (t) => {
  const { api, account, number } = chat;
  const key = [account.account_id, number.id];
  const other = new pg.Client({ connectionString: api.database_url });
  await other.connect();
  t.after(() => other.end());
  await other.query("begin");
  await other.query("select from chat_numbers where account_id = $1 and id = $2 for update", key);
  const answer = chat.create(chat.body());
  await awaitsLock(api.app.db.query);
  await other.query(
    "update chat_numbers set active = false where account_id = $1 and id = $2",
    key,
  );
  await other.query("commit");
  const { status, body } = await answer;
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [{ field: "chat_number_id", reason: "was just deactivated" }]);
  assert.equal(await chat.campaignCount(), 0);
  await other.query("update chat_numbers set active = true where account_id = $1 and id = $2", key);
  assert.equal((await chat.create(chat.body())).status, 201);
});
