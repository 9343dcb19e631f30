import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import pg from "pg";
import Type from "typebox";
import {
  type Answer,
  startApi,
  type RequestOptions,
  type TestApi,
} from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { rawRequest, sendRaw } from "../../../test/support/raw-http.ts";
import { Refusal } from "../../lib/errors.ts";
import { closed } from "../../lib/schemas.ts";
import { route } from "../route.ts";

const default_limit = 300;
/** Of accounts that have a limit of their own. */
const limits = new Map<number, number>();
const rate_limit = {
  endpoint: "limited",
  limit_a_minute: ({ id }: { id: number }) => limits.get(id) ?? default_limit,
  default_limit,
};
const access = { features: ["bulk_chat"], anyOf: ["chat.campaigns.create"] } as const;
const written = { 201: closed({ n: Type.Integer() }) };

const routes = [
  route({
    method: "POST",
    url: "/limited",
    id: "limited",
    summary: "A write that is limited",
    tag: "Test",
    access,
    rate_limit,
    key_required: true,
    body: closed({ n: Type.Integer(), text: Type.Optional(Type.String()) }),
    success: written,
    handle: async ({ body: { n }, write }) => {
      if (n === 500) throw new Error("requested by the test");
      if (n === 409) throw new Refusal("insufficient-credit", "requested by the test");
      return write(async () => ({ n }));
    },
  }),
  route({
    method: "POST",
    url: "/limited/csv",
    id: "limitedCsv",
    summary: "Write under the same limit",
    tag: "Test",
    access,
    rate_limit,
    body: closed({}),
    success: written,
    handle: async () => ({ n: 0 }),
  }),
  route({
    method: "POST",
    url: "/free",
    id: "free",
    summary: "A write without a limit",
    tag: "Test",
    access,
    body: closed({}),
    success: written,
    handle: async () => ({ n: 0 }),
  }),
];

let api: TestApi;
let otherServer: TestApi;

before(async () => {
  api = await startApi({ routes });
  otherServer = await startApi({ routes, databaseUrl: api.database_url });
});
after(async () => {
  await otherServer.close();
  await api.close();
});

const post = (of: TestAccount, options: RequestOptions & { at?: TestApi; path?: string } = {}) =>
  (options.at ?? api).send("POST", options.path ?? "/limited", {
    token: of.token,
    ...("raw" in options || "json" in options ? {} : { json: { n: 1 } }),
    ...options,
    headers: { "idempotency-key": unique("key"), ...options.headers },
  });

/** Limit, Remaining and Reset, each of which must be an integer. */
function figures(headers: { get(name: string): string | null | undefined }) {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => {
    const text = headers.get(`ratelimit-${name}`);
    assert.match(text ?? `no RateLimit-${name}`, /^\d+$/);
    return Number(text);
  }) as [number, number, number];
  assert.ok(reset >= 1 && reset <= 60, `${reset}`);
  return { limit, remaining, reset };
}

const moveWindow = (of: TestAccount, by: string) =>
  api.app.db.pool.query(
    "update rate_windows set began_at = began_at + $2::interval where account_id = $1",
    [of.account_id, by],
  );

test("of 80 requests, twenty at once on two servers, exactly the limit's 60 pass, and each reports a different remainder", async () => {
  const account = await makeAccount(api.app);
  limits.set(account.account_id, 60);
  // So few at once that none waits longer for a connection than the service lets it.
  const wave = () =>
    Promise.all(
      Array.from({ length: 20 }, (_, i) => post(account, { at: i % 2 === 0 ? api : otherServer })),
    );
  const answers: Answer[] = [];
  while (answers.length < 80) answers.push(...(await wave()));
  const passed = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status === 429);
  assert.deepEqual([passed.length, refused.length], [60, 20]);
  const left = passed.map(({ headers }) => figures(headers).remaining);
  assert.deepEqual(
    left.toSorted((a, b) => a - b),
    Array.from({ length: 60 }, (_, i) => i),
  );
  for (const { body, headers } of refused) {
    const { limit, remaining, reset } = figures(headers);
    assert.deepEqual([limit, remaining], [60, 0]);
    assert.equal(headers.get("retry-after"), String(reset));
    assert.equal(body.type, "rate-limited");
  }
});

test("a reached limit does not affect other accounts and endpoints", async () => {
  const [account, other] = [await makeAccount(api.app), await makeAccount(api.app)];
  limits.set(account.account_id, 1);
  assert.equal((await post(account)).status, 201);
  assert.equal((await post(account)).status, 429);
  assert.equal((await post(account, { path: "/limited/csv", json: {} })).status, 429);
  const free = await post(account, { path: "/free", json: {} });
  assert.equal(free.status, 201);
  assert.equal(figures(free.headers).limit, 1_000_000, "the limit of its token");
  const others = await post(other);
  assert.equal(others.status, 201);
  assert.deepEqual(figures(others.headers), { limit: 300, remaining: 299, reset: 60 });
});

test("a token that is refused for its address uses up no limit, and its answers carry the headers", async () => {
  const account = await makeAccount(api.app);
  limits.set(account.account_id, 1);
  const token = await makeToken(api.app, account, { allowed_addresses: ["198.51.100.0/24"] });
  for (let i = 0; i < 3; i++) {
    const { status, headers } = await post(account, { token });
    assert.equal(status, 403);
    assert.deepEqual(figures(headers), { limit: 300, remaining: 300, reset: 60 });
  }
  const { status, headers } = await post(account);
  assert.equal(status, 201);
  assert.deepEqual(figures(headers), { limit: 1, remaining: 0, reset: 60 });
});

test("a window ends a minute after it began, by the database's clock, and reports the seconds until then", async () => {
  const account = await makeAccount(api.app);
  limits.set(account.account_id, 2);
  await post(account);
  await post(account);
  assert.equal((await post(account)).status, 429);
  await moveWindow(account, "-40 seconds");
  const late = await post(account);
  assert.equal(late.status, 429);
  assert.ok(figures(late.headers).reset <= 20);
  await moveWindow(account, "-20 seconds");
  const next = await post(account);
  assert.equal(next.status, 201);
  assert.deepEqual(figures(next.headers), { limit: 2, remaining: 1, reset: 60 });
  await moveWindow(account, "1 hour");
  assert.deepEqual(figures((await post(account)).headers), { limit: 2, remaining: 1, reset: 60 });
});

test("every answer of the endpoint carries the headers, and every authenticated request counts", async () => {
  const account = await makeAccount(api.app);
  const json = { "content-type": "application/json" };
  const key = { "idempotency-key": "key" };
  const kinds: [number, RequestOptions][] = [
    [201, { headers: key }],
    [201, { headers: key }],
    [422, { headers: key, json: { n: 2 } }],
    [400, { raw: "{", headers: json }],
    [400, { headers: { "idempotency-key": " " } }],
    [422, { json: { n: "1" } }],
    [409, { json: { n: 409 } }],
    [500, { json: { n: 500 } }],
    [413, { json: { n: 1, text: "x".repeat(2 ** 20) } }],
    [415, { raw: "a", headers: { "content-type": "text/csv" } }],
    [415, { raw: new FormData() }],
  ];
  let counted = 0;
  for (const [expected, options] of kinds) {
    const { status, headers } = await post(account, options);
    assert.equal(status, expected);
    assert.equal(figures(headers).remaining, 300 - ++counted, String(status));
    assert.equal(headers.get("idempotency-replayed"), counted === 2 ? "true" : null);
  }
  const token = await makeAgentToken(api.app, account, []);
  const forbidden = await post(account, { token, json: { n: "1" } });
  assert.equal(forbidden.status, 403);
  assert.equal(figures(forbidden.headers).remaining, 300 - ++counted);
});

test("the limit is checked before permission and body: beyond it, both are 429", async () => {
  const account = await makeAccount(api.app);
  limits.set(account.account_id, 1);
  await post(account);
  const token = await makeAgentToken(api.app, account, null);
  assert.equal((await post(account, { token })).status, 429);
  const raw = { raw: "{", headers: { "content-type": "application/json" } };
  assert.equal((await post(account, raw)).status, 429);
});

test("an unauthenticated request and another method report the default limit in full", async () => {
  const account = await makeAccount(api.app);
  limits.set(account.account_id, 7);
  const untouched = { limit: default_limit, remaining: default_limit, reset: 60 };
  for (const [method, token, expected] of [
    ["POST", undefined, 401],
    ["POST", "nonsense", 401],
    ["POST", `${account.token}x`, 401],
    ["PUT", account.token, 405],
  ] as const) {
    const { status, headers } = await api.send(method, "/limited", { token, json: { n: 1 } });
    assert.equal(status, expected);
    assert.deepEqual(figures(headers), untouched);
  }
  assert.equal(figures((await post(account)).headers).remaining, 6);
});

test("a malformed HTTP body is 400 with the headers, and the connection's next request without a limit has none", async () => {
  const account = await makeAccount(api.app);
  const authorization = `Bearer ${account.token}`;
  const broken = await sendRaw(api.url, [
    rawRequest("POST /limited", { authorization, "transfer-encoding": "chunked" }, "zz\r\n"),
  ]);
  assert.equal(broken?.status, 400);
  assert.equal(figures(broken.headers).limit, default_limit);

  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  const read: string[] = [];
  socket.on("data", (chunk) => read.push(chunk.toString()));
  try {
    const kept = { connection: "keep-alive", "content-length": "0" };
    socket.write(rawRequest("PUT /limited", kept));
    await eventually(() => /^HTTP\/1\.1 405[^]*ratelimit-limit[^]*\}$/i.test(read.join("")));
    read.length = 0;
    socket.write(rawRequest("PUT /free", { "transfer-encoding": "chunked" }, "zz\r\n"));
    await eventually(() => /^HTTP\/1\.1 400[^]*\}$/.test(read.join("")));
    assert.doesNotMatch(read.join(""), /ratelimit/i);
  } finally {
    socket.destroy();
  }
});

test("answers 503 with the default headers while the window's row is locked", async () => {
  const account = await makeAccount(api.app);
  const operator = new pg.Client({ connectionString: api.database_url });
  await operator.connect();
  const database = new URL(api.database_url).pathname.slice(1);
  await operator.query(`alter database ${database} set lock_timeout = '100ms'`);
  const impatient = await startApi({ routes, databaseUrl: api.database_url });
  try {
    await operator.query("begin");
    await operator.query("lock table rate_windows in access exclusive mode");
    const { status, headers } = await post(account, { at: impatient });
    assert.equal(status, 503);
    assert.deepEqual(figures(headers), { limit: 300, remaining: 300, reset: 60 });
    await operator.query("rollback");
    assert.equal((await post(account, { at: impatient })).status, 201);
  } finally {
    await impatient.close();
    await operator.query(`alter database ${database} reset lock_timeout`);
    await operator.end();
  }
});

test("the document names the headers on every answer of an endpoint", () => {
  type Response = { headers?: object; $ref?: string };
  const { paths, components } = api.server.swagger() as unknown as {
    paths: Record<string, { post: { responses: Record<string, Response> } }>;
    components: { responses: Record<string, Response> };
  };
  const resolve = (response: Response) =>
    response.$ref ? components.responses[response.$ref.split("/").at(-1)!]! : response;
  const headersOf = (path: string) =>
    Object.values(paths[path]!.post.responses).map((response) =>
      Object.keys(resolve(response).headers ?? {}),
    );
  const names = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];
  assert.deepEqual(headersOf("/limited"), [names, names, names]);
  assert.deepEqual(headersOf("/free"), [names, names, names]);
});
