import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { permissionNames } from "../permissions.ts";
import { saveLastUses } from "./save-last-uses.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  makeUser,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
beforeEach(() => api.clock.set(new Date()));
after(() => api.close());

const create = (json: unknown, more: object = {}) =>
  api.send("POST", "/api/v1/tokens", { token: account.token, json, ...more });
const revoke = (id: number, token = account.token) =>
  api.send("POST", `/api/v1/tokens/${id}/revoke`, { token });
const rotate = (id: number, json: unknown = {}, more: object = {}) =>
  api.send("POST", `/api/v1/tokens/${id}/rotate`, { token: account.token, json, ...more });
/** 200 while the token works, for a token that may read users. */
const works = async (token: string, at = api) =>
  (await at.send("GET", "/api/v1/users?limit=1", { token })).status;
const accountToken = () => ({ kind: "account", name: unique("token") });
const idOf = (token: string) => Number(token.split("_")[2]);

test("an account token authenticates as the owner, and its text is shown once, at creation", async () => {
  const { status, body } = await create(accountToken());
  assert.equal(status, 201);
  assert.match(body.token, new RegExp(`^trk_${account.account_id}_${body.id}_[0-9a-f]{64}$`));
  const { token, ...rest } = body;
  assert.deepEqual(
    { ...rest, name: "", created_at: "" },
    {
      id: body.id,
      kind: "account",
      user_id: account.owner_id,
      name: "",
      scopes: null,
      expires_at: null,
      allowed_addresses: null,
      revoked_at: null,
      last_used_at: null,
      created_by: account.owner_id,
      created_at: "",
    },
  );
  assert.equal(await works(token), 200);
  const secret = token.split("_")[3];
  const read = await api.send("GET", `/api/v1/tokens/${body.id}`, { token: account.token });
  assert.deepEqual(read.body, rest);
  const list = await api.send("GET", "/api/v1/tokens?limit=200", { token: account.token });
  assert.ok(list.body.data.some(({ id }: { id: number }) => id === body.id));
  assert.ok(!list.text.includes(secret) && !/secret|sha256/.test(list.text));
});

test("an agent token authenticates as its user, within the user's role and its own scopes", async () => {
  const user_id = await makeUser(api.app, account, ["users.read", "crm.read"]);
  const { status, body } = await create({
    kind: "agent",
    name: "phone app",
    user_id,
    scopes: ["crm.read", "audit.read"],
    expires_at: "2999-01-01T00:00:00+05:30",
  });
  assert.equal(status, 201);
  assert.equal(body.user_id, user_id);
  assert.equal(body.created_by, account.owner_id);
  assert.equal(body.expires_at, "2998-12-31T18:30:00.000Z");
  assert.equal(await works(body.token), 403, "out of scope");
  const audit = await api.send("GET", "/api/v1/audit", { token: body.token });
  assert.equal(audit.status, 403, "a scope gives nothing that the role does not");
});

test("reports every invalid field of a token at once with its reason", async () => {
  const shape = await create({
    kind: "agent",
    name: " ",
    scopes: ["crm.read", "all"],
    expires_at: "2026-02-30T10:00:00Z",
    secret: "mine",
  });
  assert.equal(shape.status, 422);
  const reasons = Object.fromEntries(
    shape.body.errors.map((error: { field: string; reason: string }) => [
      error.field,
      error.reason,
    ]),
  );
  assert.match(reasons["scopes.1"], /^must be one of crm\.leads\.create, /);
  delete reasons["scopes.1"];
  assert.deepEqual(reasons, {
    secret: "unknown field",
    name: "must have 1 to 255 characters and not be blank",
    user_id: "is required for an agent token",
    expires_at: "must be a date that exists",
  });
  const cases: [object, string, RegExp][] = [
    [{ kind: "root", name: "x" }, "kind", /account, agent/],
    [{ name: "x" }, "kind", /required/],
    [{ kind: "account" }, "name", /required/],
    [{ kind: "account", name: "x", user_id: account.owner_id }, "user_id", /omitted/],
    [{ kind: "account", name: "x", expires_at: "2020-01-01T00:00:00Z" }, "expires_at", /future/],
    [{ kind: "account", name: "x", expires_at: 1 }, "expires_at", /string/],
  ];
  for (const [json, field, reason] of cases) {
    const { status, body } = await create(json);
    assert.equal(status, 422);
    assert.equal(body.errors.length, 1);
    assert.equal(body.errors[0].field, field);
    assert.match(body.errors[0].reason, reason);
  }
});

test("an agent token needs an active user of the account", async () => {
  const other = await makeAccount(api.app);
  const asleep = await makeUser(api.app, account);
  await api.send("PATCH", `/api/v1/users/${asleep}`, {
    token: account.token,
    json: { active: false },
  });
  for (const user_id of [other.owner_id, asleep, 0, 9007199254740991]) {
    const { status, body } = await create({ kind: "agent", name: "x", user_id });
    assert.equal(status, 422);
    assert.deepEqual(body.errors, [
      { field: "user_id", reason: "must be the ID of an active user" },
    ]);
  }
});

test("a token with allowed addresses works from them alone, also after its rotation", async () => {
  const make = async (allowed_addresses: string[]) => {
    const { status, body, text } = await create({ ...accountToken(), allowed_addresses });
    assert.equal(status, 201, text);
    assert.deepEqual(body.allowed_addresses, allowed_addresses);
    return body.token as string;
  };
  const here = await make(["198.51.100.0/24", "127.0.0.0/8"]);
  const elsewhere = await make(["198.51.100.0/24", "2001:db8::/32"]);
  assert.deepEqual([await works(here), await works(elsewhere)], [200, 403]);
  const refused = await api.send("GET", "/api/v1/account", { token: elsewhere });
  assert.deepEqual(
    [refused.body.type, /127\.0\.0\.1/.test(refused.body.detail)],
    ["forbidden", true],
  );
  const call = { token: elsewhere, json: { to_number: "9876543210", from_number: "101" } };
  const called = await api.send("POST", "/api/v1/clickToCallApis/clickToCall", call);
  assert.deepEqual([called.status, Object.keys(called.body)], [403, ["status", "message"]]);
  const rotated = (await rotate(idOf(elsewhere))).body.token;
  assert.equal(await works(rotated), 403);
  const wrong = await create({
    ...accountToken(),
    allowed_addresses: ["127.0.0.1", "10.0.0.0/99", "x"],
  });
  assert.deepEqual(
    wrong.body.errors.map(({ field }: { field: string }) => field),
    ["allowed_addresses.1", "allowed_addresses.2"],
  );
});

test("an expiry without an offset is local to the account's zone", async () => {
  const own = await makeAccount(api.app);
  await api.send("PATCH", "/api/v1/account", {
    token: own.token,
    json: { time_zone: "Asia/Kolkata" },
  });
  const { body } = await create(
    { ...accountToken(), expires_at: "2999-01-01 00:00" },
    { token: own.token },
  );
  assert.equal(body.expires_at, "2998-12-31T18:30:00.000Z");
});

test("a token is refused from its expiry on, by the clock of the service", async () => {
  const { body } = await create({ ...accountToken(), expires_at: "2999-01-01T00:00:00Z" });
  api.clock.set("2998-12-31T23:59:59.999Z");
  assert.equal(await works(body.token), 200);
  api.clock.set("2999-01-01T00:00:00Z");
  assert.equal(await works(body.token), 401);
});

test("a revocation applies to the next request and is idempotent", async () => {
  const { body: made } = await create(accountToken());
  assert.equal(await works(made.token), 200);
  const first = await revoke(made.id);
  assert.equal(first.status, 200);
  assert.equal(first.body.revoked_at, api.clock.now().toISOString());
  assert.equal(await works(made.token), 401);
  api.clock.advance(60_000);
  const again = await revoke(made.id);
  assert.equal(again.status, 200);
  assert.equal(again.text, first.text);
  const audit = await api.send("GET", `/api/v1/audit?action=token.revoked&subject_id=${made.id}`, {
    token: account.token,
  });
  assert.equal(audit.body.data.length, 1, "a repetition is not audited");
});

test("another process stops accepting a revoked or rotated token that it has cached", async () => {
  const second = await startApi({ databaseUrl: api.database_url });
  try {
    for (const end of [revoke, rotate]) {
      const { body: made } = await create(accountToken());
      assert.equal(await works(made.token, second), 200);
      await end(made.id);
      await eventually(async () => (await works(made.token, second)) === 401);
    }
  } finally {
    await second.close();
  }
});

test("a rotation creates a token of the same kind, user, name, scopes and expiry; the old one expires after the overlap", async () => {
  const user_id = await makeUser(api.app, account, ["users.read", "crm.read"]);
  const { body: old } = await create({
    kind: "agent",
    name: "phone app",
    user_id,
    scopes: ["users.read"],
    expires_at: "2999-01-01T00:00:00Z",
  });
  const { status, body: fresh } = await rotate(old.id, { overlap_seconds: 3600 });
  assert.equal(status, 201);
  assert.deepEqual(fresh, {
    ...old,
    id: fresh.id,
    token: fresh.token,
    created_at: fresh.created_at,
  });
  assert.notEqual(fresh.id, old.id);
  assert.equal(await works(fresh.token), 200);
  api.clock.advance(3_599_000);
  assert.equal(await works(old.token), 200);
  api.clock.advance(1_000);
  assert.equal(await works(old.token), 401);
  assert.equal(await works(fresh.token), 200);
});

test("a rotation without overlap ends the old token immediately, even when it rotates itself", async () => {
  const { body: old } = await create(accountToken());
  const { status, body: fresh } = await rotate(old.id, {}, { token: old.token });
  assert.equal(status, 201);
  assert.equal(await works(old.token), 401);
  assert.equal(await works(fresh.token), 200);
});

test("an overlap never extends the expiry of the old token", async () => {
  const soon = new Date(api.clock.now().getTime() + 60_000).toISOString();
  const { body: old } = await create({ ...accountToken(), expires_at: soon });
  const { body: fresh } = await rotate(old.id, { overlap_seconds: 604_800 });
  assert.equal(fresh.expires_at, soon);
  const { body: read } = await api.send("GET", `/api/v1/tokens/${old.id}`, {
    token: account.token,
  });
  assert.equal(read.expires_at, soon);
});

test("an expired or revoked token is not rotated, and of two concurrent rotations only one succeeds", async () => {
  const { body: revoked } = await create(accountToken());
  await revoke(revoked.id);
  const refused = await rotate(revoked.id);
  assert.equal(refused.status, 409);
  assert.equal(refused.body.type, "conflict");
  const { body: twice } = await create(accountToken());
  const statuses = await Promise.all([rotate(twice.id), rotate(twice.id)]);
  assert.deepEqual(new Set(statuses.map(({ status }) => status)), new Set([201, 409]));
});

test("an overlap is a whole number of seconds up to a week", async () => {
  const { body: made } = await create(accountToken());
  for (const overlap_seconds of [-1, 604_801, 1.5, "60"]) {
    const { status, body } = await rotate(made.id, { overlap_seconds });
    assert.equal(status, 422);
    assert.equal(body.errors[0].field, "overlap_seconds");
  }
  assert.equal((await rotate(made.id, { overlap: 1 })).body.errors[0].field, "overlap");
  assert.equal((await rotate(made.id, { overlap_seconds: null })).status, 201);
});

test("a repeated Idempotency-Key creates no second token and does not reveal the first one's text", async () => {
  const headers = { "idempotency-key": unique("key") };
  const json = accountToken();
  const first = await create(json, { headers });
  assert.equal(first.status, 201);
  assert.equal(await works(first.body.token), 200);
  const again = await create(json, { headers });
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.body, { ...first.body, token: null });
  const rotation = { "idempotency-key": unique("key") };
  const rotated = await rotate(first.body.id, {}, { headers: rotation });
  const repeated = await rotate(first.body.id, {}, { headers: rotation });
  assert.equal(await works(rotated.body.token), 200);
  assert.deepEqual(repeated.body, { ...rotated.body, token: null });
});

test("of concurrent requests under one Idempotency-Key, exactly one receives the token", async () => {
  const headers = { "idempotency-key": unique("key") };
  const json = accountToken();
  const answers = await Promise.all(Array.from({ length: 10 }, () => create(json, { headers })));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.equal(answers.filter(({ body }) => body.token !== null).length, 1);
});

test("the database contains no secret", async () => {
  const headers = { "idempotency-key": unique("key") };
  const { body: made } = await create(accountToken(), { headers });
  const { body: rotated } = await rotate(made.id, {}, { headers });
  const { rows: tables } = await api.app.db.pool.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  for (const { name } of tables) {
    const { rows } = await api.app.db.pool.query<{ text: string }>(
      `select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`,
    );
    for (const { token } of [made, rotated])
      assert.ok(!rows[0]!.text.includes(token.split("_")[3]), name);
  }
});

test("refuses to create or rotate a token with more permissions than the grantor", async () => {
  const own = ["tokens.manage", "crm.read"] as const;
  const agent = await makeAgentToken(api.app, account, own);
  const mighty = await makeUser(api.app, account, ["crm.read", "crm.write"]);
  const equal = await makeUser(api.app, account, ["crm.read"]);
  const by = { token: agent };
  const agentFor = (user_id: number, more: object = {}) =>
    create({ kind: "agent", name: "x", user_id, ...more }, by);
  assert.equal((await create(accountToken(), by)).status, 403);
  assert.equal((await create({ ...accountToken(), scopes: ["crm.read"] }, by)).status, 403);
  assert.equal((await agentFor(account.owner_id)).status, 403);
  assert.equal((await agentFor(mighty)).status, 403);
  assert.equal((await agentFor(equal, { scopes: ["crm.write"] })).status, 403);
  assert.equal((await agentFor(equal)).status, 201);
  const theirs = await makeToken(api.app, account, { kind: "agent", user_id: mighty });
  for (const target of [account.token, theirs]) {
    const { status, body } = await rotate(idOf(target), {}, by);
    assert.equal(status, 403);
    assert.equal(body.type, "forbidden");
  }
  assert.equal((await rotate(idOf(agent), {}, by)).status, 201, "it may rotate itself");
});

test("refuses to create or rotate a token of another user with more permissions than the grantor, whatever its scopes", async () => {
  const own = await makeUser(api.app, account, ["tokens.manage", "crm.read"]);
  const token = await makeToken(api.app, account, { kind: "agent", user_id: own });
  const mighty = await makeUser(api.app, account, ["crm.read", "crm.write"]);
  const equal = await makeUser(api.app, account, ["crm.read"]);
  const agentFor = (user_id: number, scopes: string[], by = token) =>
    create({ kind: "agent", name: "x", user_id, scopes }, { token: by });
  for (const user_id of [account.owner_id, mighty])
    for (const scopes of [[], ["crm.read"]]) {
      const refused = await agentFor(user_id, scopes);
      assert.deepEqual([refused.status, refused.body.type], [403, "forbidden"]);
      assert.match(refused.body.detail, /another user needs their permissions.*crm\.write/);
      const { body: made } = await agentFor(user_id, scopes, account.token);
      assert.equal((await rotate(made.id, {}, { token })).status, 403);
      assert.equal((await rotate(made.id)).status, 201, "with every permission of the user");
    }
  const { status, body: made } = await agentFor(equal, []);
  assert.equal(status, 201);
  assert.equal((await rotate(made.id, {}, { token })).status, 201);
  const narrow = await makeToken(api.app, account, {
    kind: "agent",
    user_id: own,
    scopes: ["tokens.manage"],
  });
  assert.equal((await agentFor(own, ["tokens.manage"], narrow)).status, 201, "of their own user");
});

test("a token with more permissions than the grantor's is not revoked by them, but their own is", async () => {
  const weak = await makeAgentToken(api.app, account, ["tokens.manage", "crm.read"]);
  const strong = await makeAgentToken(api.app, account, ["crm.read", "crm.export"]);
  const equal = await makeAgentToken(api.app, account, ["crm.read"]);
  const owners = await makeToken(api.app, account);
  for (const token of [strong, owners]) {
    const { status, body } = await revoke(idOf(token), weak);
    assert.deepEqual([status, body.type], [403, "forbidden"]);
  }
  assert.equal((await revoke(idOf(equal), weak)).status, 200);
  const scoped = await makeToken(api.app, account, { scopes: ["tokens.manage"] });
  assert.equal((await revoke(idOf(scoped), scoped)).status, 200);
  assert.equal(await works(owners), 200);
});

test("a scoped token creates and rotates only tokens within its scopes", async () => {
  const scopes = ["tokens.manage", "crm.read"] as const;
  const scoped = await makeToken(api.app, account, { scopes });
  const by = { token: scoped };
  assert.equal((await create(accountToken(), by)).status, 403);
  assert.equal((await create({ ...accountToken(), scopes: ["crm.write"] }, by)).status, 403);
  assert.equal((await create({ ...accountToken(), scopes: ["crm.read"] }, by)).status, 201);
  assert.equal((await rotate(idOf(account.token), {}, by)).status, 403);
  const { body: fresh } = await rotate(idOf(scoped), {}, by);
  assert.deepEqual(fresh.scopes, scopes);
});

test("an agent with every permission may create an account token", async () => {
  const agent = await makeAgentToken(api.app, account, permissionNames);
  assert.equal((await create(accountToken(), { token: agent })).status, 201);
});

test("another account's token is indistinguishable from an unknown one", async () => {
  const other = await makeAccount(api.app);
  const without = (text: string) => text.replace(/"request_id":"[^"]*"/, "");
  for (const [method, path] of [
    ["GET", ""],
    ["POST", "/revoke"],
    ["POST", "/rotate"],
  ] as const) {
    const options = { token: account.token, json: path === "/rotate" ? {} : undefined };
    const foreign = await api.send(method, `/api/v1/tokens/${idOf(other.token)}${path}`, options);
    const unknown = await api.send(method, `/api/v1/tokens/999999999${path}`, options);
    assert.equal(foreign.status, 404, path);
    assert.equal(without(foreign.text), without(unknown.text));
  }
  assert.equal(await works(other.token), 200);
});

test("tokens are read and managed only with tokens.manage", async () => {
  const no_permissions = await makeAgentToken(api.app, account, ["users.manage", "account.manage"]);
  const by = { token: no_permissions };
  assert.equal((await api.send("GET", "/api/v1/tokens", by)).status, 403);
  assert.equal((await api.send("GET", `/api/v1/tokens/${idOf(no_permissions)}`, by)).status, 403);
  assert.equal((await create(accountToken(), by)).status, 403);
  assert.equal((await revoke(idOf(account.token), no_permissions)).status, 403);
  assert.equal((await rotate(idOf(no_permissions), {}, by)).status, 403);
  assert.equal((await api.send("GET", "/api/v1/tokens")).status, 401);
});

test("the audit trail records a token's creation, rotation and revocation, without its secret", async () => {
  const { body: made } = await create({ ...accountToken(), scopes: [] });
  const { body: fresh } = await rotate(made.id, { overlap_seconds: 60 });
  await revoke(made.id);
  const { body, text } = await api.send("GET", `/api/v1/audit?subject_id=${made.id}`, {
    token: account.token,
  });
  assert.deepEqual(
    body.data
      .filter((entry: { action: string }) => entry.action.startsWith("token."))
      .map((entry: { action: string; token_id: number; detail: unknown }) => [
        entry.action,
        entry.token_id,
        entry.detail,
      ]),
    [
      ["token.revoked", idOf(account.token), {}],
      ["token.rotated", idOf(account.token), { new_token_id: fresh.id, overlap_seconds: 60 }],
      [
        "token.created",
        idOf(account.token),
        {
          kind: "account",
          user_id: account.owner_id,
          scopes: [],
          allowed_addresses: null,
          expires_at: null,
        },
      ],
    ],
  );
  assert.ok(!text.includes(made.token.split("_")[3]));
});

test("last uses are saved in one statement, never go back, and survive a failed write", async () => {
  const { body: used } = await create(accountToken());
  const { body: unused } = await create(accountToken());
  const lastUse = async (id: number) =>
    (await api.send("GET", `/api/v1/tokens/${id}`, { token: account.token })).body.last_used_at;
  api.clock.set("2998-01-01T00:00:00Z");
  await works(used.token);
  api.clock.set("2998-01-01T00:00:05Z");
  await works(used.token);
  await api.app.db.pool.query("alter table tokens rename to tokens_away");
  await assert.rejects(api.app.tokens.saveLastUses());
  await api.app.db.pool.query("alter table tokens_away rename to tokens");
  await api.app.tokens.saveLastUses();
  assert.equal(await lastUse(used.id), "2998-01-01T00:00:05.000Z");
  assert.equal(await lastUse(unused.id), null);
  api.clock.set("2997-01-01T00:00:00Z");
  await works(used.token);
  await api.app.tokens.saveLastUses();
  assert.equal(await lastUse(used.id), "2998-01-01T00:00:05.000Z", "never goes back");
});

test("a request from an address that the token does not allow does not count as its last use", async () => {
  const { body: elsewhere } = await create({
    ...accountToken(),
    allowed_addresses: ["198.51.100.0/24"],
  });
  assert.equal(await works(elsewhere.token), 403);
  await api.app.tokens.saveLastUses();
  const { body } = await api.send("GET", `/api/v1/tokens/${elsewhere.id}`, {
    token: account.token,
  });
  assert.equal(body.last_used_at, null);
});

test("a stopping process waits for a save of last uses in progress", async (t) => {
  const { body: used } = await create(accountToken());
  await works(used.token);
  t.mock.timers.enable({ apis: ["setInterval"] });
  const stop = saveLastUses(api.app.tokens, api.app.log);
  const holder = await api.app.db.pool.connect();
  await holder.query("begin");
  await holder.query("lock table tokens");
  t.mock.timers.tick(30_000);
  let stopped = false;
  const stopping = stop().then(() => (stopped = true));
  await eventually(async () => {
    const { rows } = await holder.query(
      "select from pg_locks where relation = 'tokens'::regclass and not granted",
    );
    return rows.length > 0;
  });
  assert.ok(!stopped);
  await holder.query("rollback");
  holder.release();
  await stopping;
});

test("a stopping process saves the last uses it still has in memory", async () => {
  const { body: used } = await create(accountToken());
  const stop = saveLastUses(api.app.tokens, api.app.log);
  await works(used.token);
  await stop();
  const { body } = await api.send("GET", `/api/v1/tokens/${used.id}`, { token: account.token });
  assert.equal(body.last_used_at, api.clock.now().toISOString());
});
