import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fastify from "fastify";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../../test/support/chat-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  makeToken,
  type TestAccount,
} from "../../../../test/support/account-factory.ts";
import { sendCsv } from "./send-csv.ts";

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

test("an export reads no further pages and keeps no transaction open while its reader pauses, then continues to the end", async () => {
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
  // At any time: one statement reads a page, and the buffers between server and reader hold few pages.
  const { rows: open } = await pool.query<{ state: string }>(
    `select state from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`,
  );
  assert.deepEqual(open, []);
  const asked_unread = asked;
  // Readers that are still authorized are not cut off.
  api.clock.advance(15_000);
  while (await read());
  assert.equal(lines, rows + 1);
  assert.ok(asked_unread * 2 < asked, `${asked_unread} of ${asked} pages were asked for unread`);
});

/** The campaign's export by this token, its first chunk read and the rest waiting to be. */
async function beginExport(token: string) {
  const path = `/api/v1/chat/campaigns/${campaign_id}/recipients/export`;
  const answer = await fetch(api.url + path, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200);
  const reader = answer.body!.getReader();
  await reader.read();
  return async () => {
    while (!(await reader.read()).done);
  };
}

test("an export that fails midway is cut off, so that it is not mistaken for a complete file", async () => {
  const { pool } = api.app.db;
  const readOn = await beginExport(account.token);
  await pool.query("alter table chat_recipients rename column error to gone");
  await assert.rejects(readOn());
  await pool.query("alter table chat_recipients rename column gone to error");
});

test("an export is cut off seconds after its token is revoked or loses the permission", async () => {
  const { account_id } = account;
  const revoked = await makeToken(api.app, account);
  const agent = await makeAgentToken(api.app, account, ["chat.export"]);
  const readRevoked = await beginExport(revoked);
  const readAsAgent = await beginExport(agent);
  const found = await api.app.db.query
    .selectFrom("tokens as t")
    .leftJoin("users as u", (on) =>
      on.onRef("u.account_id", "=", "t.account_id").onRef("u.id", "=", "t.user_id"),
    )
    .select(["t.id", "u.role_id"])
    .where("t.account_id", "=", account_id)
    .orderBy("t.id", "desc")
    .limit(2)
    .execute();
  const [ofAgent, ofRevoked] = found;
  const change = (method: string, path: string, json: unknown) =>
    api.send(method, path, { token: account.token, json });
  assert.equal((await change("POST", `/api/v1/tokens/${ofRevoked!.id}/revoke`, {})).status, 200);
  const role = `/api/v1/roles/${ofAgent!.role_id}`;
  assert.equal((await change("PATCH", role, { permissions: ["chat.read"] })).status, 200);
  api.clock.advance(15_000);
  await assert.rejects(readRevoked());
  await assert.rejects(readAsAgent());
});

test("an export ends when its reader disconnects", async () => {
  const ended = Promise.withResolvers<void>();
  async function* endless() {
    try {
      for (;;) yield "x".repeat(10_000);
    } finally {
      ended.resolve();
    }
  }
  const server = fastify();
  server.get("/", (_request, reply) => sendCsv(reply, "endless.csv", endless()));
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(url);
  await answer.body!.cancel();
  await ended.promise;
  await server.close();
});

test("a HEAD of an export returns its headers and neither reads nor records the export", async () => {
  const { pool } = api.app.db;
  const of = await makeAccount(api.app);
  const path = "/api/v1/chat/replies/export";
  const count = async () => {
    const { rows: found } = await pool.query<{ count: number }>(
      "select count(*)::int from audit_entries where account_id = $1 and action = 'chat_replies.exported'",
      [of.account_id],
    );
    return found[0]!.count;
  };
  const request = (method: string) => api.send(method, path, { token: of.token });
  const head = await request("HEAD");
  assert.deepEqual([head.status, await count()], [200, 0]);
  const get = await request("GET");
  assert.deepEqual([get.status, await count()], [200, 1]);
  for (const name of ["content-type", "content-disposition"])
    assert.equal(head.headers.get(name), get.headers.get(name));
});
