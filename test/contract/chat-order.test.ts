// The precedence of a campaign's errors, the permission to create one, and the rate limit headers of
// every response (contract 4.2 rule 7, 5.3, 7.1, 8).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { permissionNames } from "../../server/accounts/permissions.ts";
import type { Answer, RequestOptions } from "../support/api.ts";
import { makeAccount, makeAgentToken, unique } from "../support/account-factory.ts";
import { rawRequest, sendRaw, type RawResponse } from "../support/raw-http.ts";
import { campaigns_path, startChatApi, type ChatApi } from "./chat-api.ts";
import { assertProblem } from "./lead-api.ts";

let chat: ChatApi;

before(async () => {
  chat = await startChatApi({ credit: 100 });
});
after(() => chat.api.close());

const json_type = { "content-type": "application/json" };

const post = (options: RequestOptions) =>
  chat.api.send("POST", campaigns_path, { token: chat.account.token, ...options });

function assertRateHeaders({ headers }: Pick<Answer | RawResponse, "headers">): void {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => {
    const text = headers.get(`ratelimit-${name}`);
    assert.match(text ?? `no ratelimit-${name}`, /^\d+$/);
    return Number(text);
  }) as [number, number, number];
  assert.ok(remaining <= limit && reset >= 1 && reset <= 60);
}

test("when all checks fail, each corrected violation shows the next: 401, 403, 400 body, key, 422, 400, 422, 400, 409, 201", async () => {
  const powerless = await makeAgentToken(chat.api.app, chat.account, []);
  const key = () => ({ ...json_type, "idempotency-key": unique("key") });
  const contacts = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ phone_number: String(919_820_000_000 + i) }));
  const { name, chat_number_id, template_id } = chat.body();
  const wrong = { name: 1, chat_number_id: 0, contacts: [] };
  const steps: [RequestOptions, number, string][] = [
    [{ token: "nonsense", raw: "{", headers: json_type }, 401, "unauthorized"],
    [{ token: powerless, raw: "{", headers: json_type }, 403, "forbidden"],
    [{ raw: "{", headers: json_type }, 400, "bad-request"],
    [{ json: wrong }, 400, "bad-request"],
    [{ json: wrong, headers: key() }, 422, "validation-failed"],
    [{ json: { ...wrong, name }, headers: key() }, 400, "bad-request"],
    [{ json: { ...wrong, name, template_id }, headers: key() }, 400, "bad-request"],
    [
      { json: { ...wrong, name, template_id, contacts: [{ phone_number: "x" }] }, headers: key() },
      422,
      "validation-failed",
    ],
    [
      {
        json: { name, template_id, chat_number_id, contacts: [{ phone_number: "x" }] },
        headers: key(),
      },
      400,
      "bad-request",
    ],
    [
      { json: { name, template_id, chat_number_id, contacts: contacts(101) }, headers: key() },
      409,
      "insufficient-credit",
    ],
  ];
  for (const [i, [options, status, type]] of steps.entries()) {
    const answer = await post(options);
    assert.equal(answer.status, status, `step ${i}: ${answer.text}`);
    assertProblem(answer, status, type);
    assertRateHeaders(answer);
  }
  assert.equal(await chat.campaignCount(), 0);
  const json = { name, template_id, chat_number_id, contacts: contacts(100) };
  const created = await post({ json, headers: key() });
  assert.equal(created.status, 201, created.text);
  assertRateHeaders(created);
});

test("the account needs the bulk chat feature, and the token the permission to create campaigns", async () => {
  const own = await startChatApi();
  const { app } = own.api;
  const without = await makeAccount(app, { features: ["crm", "voice", "calls"] });
  const others = permissionNames.filter((name) => name !== "chat.campaigns.create");
  for (const token of [without.token, await makeAgentToken(app, own.account, others)]) {
    const answer = await own.create(own.body(), { token });
    assertProblem(answer, 403, "forbidden");
    assertRateHeaders(answer);
  }
  const token = await makeAgentToken(app, own.account, ["chat.campaigns.create"]);
  assert.equal((await own.create(own.body(), { token })).status, 201);
  assert.equal(await own.campaignCount(), 1);
  await own.api.close();
});

test("a missing, malformed or invalid token is 401, with the figures of the default limit", async () => {
  for (const authorization of ["", "Bearer", "Bearer nonsense", chat.account.token]) {
    const answer = await chat.create(chat.body(), { token: undefined, headers: { authorization } });
    assertProblem(answer, 401, "unauthorized");
    assert.ok(answer.headers.get("www-authenticate"));
    assertRateHeaders(answer);
    assert.equal(answer.headers.get("ratelimit-limit"), "300");
    assert.equal(answer.headers.get("ratelimit-remaining"), "300");
  }
});

test("a body that is not JSON is 400 bad-request, and a media type other than JSON is 415", async () => {
  const headers = { ...json_type, "idempotency-key": unique("key") };
  const text = JSON.stringify(chat.body());
  const broken = [
    "",
    "{",
    `${text}${text}`,
    text.slice(0, -1),
    '{"contacts":[,]}',
    '{"contacts":[{"phone_number":"1"},]}',
    '{"contacts":[{"phone_number":"1"}}}',
    '{"contacts":[{"phone_number":"1"}',
    '{"contacts":[{"phone_number":"1]}',
    '["contacts":[]]',
  ];
  for (const raw of [...broken, Buffer.from([0x7b, 0xff, 0x7d])]) {
    const answer = await post({ raw, headers });
    assertProblem(answer, 400, "bad-request");
    assertRateHeaders(answer);
  }
  for (const type of ["text/plain", "application/xml", "multipart/form-data; boundary=x"]) {
    const answer = await post({ raw: text, headers: { ...headers, "content-type": type } });
    assertProblem(answer, 415, "unsupported-media-type");
    assertRateHeaders(answer);
  }
});

test("the body is application/json in any spelling, and a missing Content-Type is read as JSON", async () => {
  for (const type of ["application/json", "APPLICATION/JSON; charset=utf-8"]) {
    const answer = await chat.create(chat.body({ contacts: undefined }), {
      headers: { "content-type": type },
    });
    assertProblem(answer, 400, "bad-request");
    assert.match(answer.text, /contacts/);
  }
  const text = JSON.stringify(chat.body({ contacts: undefined }));
  const headers = {
    authorization: `Bearer ${chat.account.token}`,
    "idempotency-key": unique("key"),
    "content-length": String(text.length),
  };
  const answer = await sendRaw(chat.api.url, [rawRequest(`POST ${campaigns_path}`, headers, text)]);
  assert.equal(answer?.status, 400);
  assert.match(answer.text, /no contacts/);
});

test("a wrong method is 405 with Allow, also with the figures", async () => {
  const answer = await chat.api.send("DELETE", campaigns_path, { token: chat.account.token });
  assertProblem(answer, 405, "method-not-allowed");
  assert.match(answer.headers.get("allow") ?? "", /POST/);
  assertRateHeaders(answer);
  for (const method of ["PROPFIND", "TRACE", "QUERY", "LOCK"]) {
    const uncommon = await sendRaw(chat.api.url, [rawRequest(`${method} ${campaigns_path}`)]);
    assert.equal(uncommon?.status, 405, method);
    assert.equal(uncommon.headers.get("allow"), answer.headers.get("allow"));
    assertRateHeaders(uncommon);
  }
});

test("too many writes in the window are 429 with Retry-After, whatever they would have answered", async () => {
  const own = await startChatApi();
  const { app } = own.api;
  await app.db.query
    .updateTable("accounts")
    .set({ chat_writes_a_minute: 5 })
    .where("account_id", "=", own.account.account_id)
    .execute();
  const answers: Answer[] = [];
  for (const json of [own.body(), own.body({ name: 1 }), "x", own.body(), own.body()])
    answers.push(await own.create(json));
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get("ratelimit-remaining")]),
    [
      [201, "4"],
      [422, "3"],
      [422, "2"],
      [201, "1"],
      [201, "0"],
    ],
  );
  const key = unique("key");
  for (const raw of ["{", JSON.stringify(own.body())]) {
    const headers = { ...json_type, "idempotency-key": key };
    const answer = await own.create(undefined, { raw, headers });
    assertProblem(answer, 429, "rate-limited");
    assertRateHeaders(answer);
    assert.equal(answer.headers.get("retry-after"), answer.headers.get("ratelimit-reset"));
  }
  // The other ways to create a campaign share the window; a preview is none.
  for (const path of ["csv", "group"]) {
    const { status } = await own.api.send("POST", `${campaigns_path}/${path}`, {
      token: own.account.token,
    });
    assert.equal(status, 429);
  }
  const preview = { token: own.account.token, json: own.body() };
  assert.equal((await own.api.send("POST", `${campaigns_path}/preview`, preview)).status, 200);
  assert.equal(await own.campaignCount(), 3);
  await own.api.close();
});
