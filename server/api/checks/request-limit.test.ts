import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

async function limitedAccount(limits: {
  requests_a_minute?: number;
  token_requests_a_minute?: number;
}): Promise<TestAccount> {
  const account = await makeAccount(api.app);
  await api.app.db.query
    .updateTable("accounts")
    .set(limits)
    .where("account_id", "=", account.account_id)
    .execute();
  return account;
}

const get = async (token: string, path = "/api/v1/account") => {
  const { status, headers, body } = await api.send("GET", path, { token });
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    Number(headers.get(`ratelimit-${name}`)),
  );
  return { status, body, limit, remaining, reset, retry_after: headers.get("retry-after") };
};

test("a token beyond its requests a minute is 429 on every route, until the window ends; other tokens are not", async () => {
  const account = await limitedAccount({ token_requests_a_minute: 3 });
  const { token } = account;
  const other = await makeToken(api.app, account);
  api.clock.set("2030-01-01T00:00:00Z");
  for (const remaining of [2, 1, 0]) {
    const answer = await get(token);
    assert.deepEqual(
      [answer.status, answer.limit, answer.remaining, answer.reset],
      [200, 3, remaining, 60],
    );
  }
  api.clock.advance(20_500);
  for (const path of ["/api/v1/account", "/api/v1/tokens", "/api/v1/credits"]) {
    const answer = await get(token, path);
    assert.deepEqual([answer.status, answer.remaining, answer.retry_after], [429, 0, "40"]);
    assert.equal(answer.body.type, "rate-limited");
  }
  const call = await api.send("POST", "/api/v1/clickToCallApis/clickToCall", { token, json: {} });
  assert.equal(call.status, 429);
  assert.deepEqual(Object.keys(call.body), ["status", "message"]);
  assert.equal((await get(other)).status, 200);
  assert.equal((await api.send("GET", "/openapi.json", { token })).status, 200);
  api.clock.advance(39_500);
  assert.equal((await get(token)).status, 200);
  api.clock.release();
});

test("an account's tokens share its requests a minute, and a refused token does not use them up", async () => {
  const account = await limitedAccount({ requests_a_minute: 4, token_requests_a_minute: 2 });
  const [second, third] = [await makeToken(api.app, account), await makeToken(api.app, account)];
  const statuses = [];
  for (const token of [account.token, account.token, account.token, second, second, third])
    statuses.push((await get(token)).status);
  assert.deepEqual(statuses, [200, 200, 429, 200, 200, 429]);
  const { limit, body } = await get(third);
  assert.equal(limit, 4);
  assert.match(body.detail, /This account may send 4 requests a minute/);
  assert.equal((await get((await makeAccount(api.app)).token)).status, 200);
});

test("requests that are refused for their address do not use up an account's requests a minute", async () => {
  const account = await limitedAccount({ requests_a_minute: 1 });
  const foreign = await makeToken(api.app, account, { allowed_addresses: ["198.51.100.0/24"] });
  for (let i = 0; i < 2; i++) assert.equal((await get(foreign)).status, 403);
  assert.equal((await get(account.token)).status, 200);
});

test("the endpoint with a limit of its own reports that limit, unless the token's is reached", async () => {
  const { token } = await limitedAccount({ token_requests_a_minute: 1 });
  const create = () =>
    api.send("POST", "/api/v1/chat/campaigns", {
      token,
      headers: { "idempotency-key": unique("key") },
      json: {},
    });
  const [first, second] = [await create(), await create()];
  assert.equal(first.headers.get("ratelimit-limit"), "300");
  assert.equal(first.headers.get("ratelimit-remaining"), "299");
  assert.deepEqual([second.status, second.headers.get("ratelimit-limit")], [429, "1"]);
});

test("the default limits are beyond what one token can send", async () => {
  const { token } = await makeAccount(api.app);
  const { body, limit } = await get(token);
  assert.equal(limit, 1_000_000);
  assert.deepEqual(body.requests, { a_minute: 2_000_000, of_token_a_minute: 1_000_000 });
});
