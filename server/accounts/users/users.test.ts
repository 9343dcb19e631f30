import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  makeUser,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startSlowWrite } from "../../../test/support/slow-write.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const newUser = (more: object = {}) => ({
  name: "Asha",
  email: `${unique("asha")}@test.example`,
  ...more,
});
const create = (json: unknown, more: object = {}) =>
  api.send("POST", "/api/v1/users", { token: account.token, json, ...more });
const patch = (id: number, json: unknown, token = account.token) =>
  api.send("PATCH", `/api/v1/users/${id}`, { token, json });
const createRole = async (permissions: string[]) =>
  (
    await api.send("POST", "/api/v1/roles", {
      token: account.token,
      json: { name: unique("role"), permissions },
    })
  ).body.id as number;

test("a user with only a name and an email is active and has no role or numbers", async () => {
  const email = `${unique("Mixed.Case")}@Test.Example`;
  const { status, body } = await create({ name: "Asha", email });
  assert.equal(status, 201);
  const { id, created_at, updated_at, ...rest } = body;
  assert.equal(created_at, updated_at);
  assert.deepEqual(rest, {
    name: "Asha",
    email: email.toLowerCase(),
    phone: null,
    extension: null,
    role_id: null,
    is_owner: false,
    has_totp: false,
    passkeys: 0,
    active: true,
  });
  const read = await api.send("GET", `/api/v1/users/${id}`, { token: account.token });
  assert.deepEqual(read.body, body);
});

test("a user can have a phone, an extension and a role, and can be created inactive", async () => {
  const role_id = await createRole(["crm.read"]);
  const given = newUser({ phone: "9876543210", extension: "201", role_id, active: false });
  const { status, body } = await create(given);
  assert.equal(status, 201);
  assert.deepEqual({ ...body, ...given }, body);
});

test("reports every invalid field of a user at once with its reason", async () => {
  const { status, body } = await create({
    name: "",
    email: "asha",
    phone: "98765",
    extension: "1",
    role_id: "1",
    active: "yes",
    is_owner: true,
  });
  assert.equal(status, 422);
  const reasons = Object.fromEntries(
    body.errors.map((error: { field: string; reason: string }) => [error.field, error.reason]),
  );
  assert.deepEqual(reasons, {
    is_owner: "unknown field",
    name: "must have 1 to 255 characters and not be blank",
    email: "must be a valid email address",
    phone: "must be exactly 10 digits",
    extension: "must be 2 to 6 digits",
    role_id: "must be an integer",
    active: "must be a boolean",
  });
});

test("an unknown role and another account's role are the same violation, reported together with a taken email", async () => {
  const taken = newUser();
  await create(taken);
  const other = await makeAccount(api.app);
  const foreign = await api.send("POST", "/api/v1/roles", {
    token: other.token,
    json: { name: "r", permissions: [] },
  });
  for (const role_id of [foreign.body.id, 0, -1, 9007199254740991]) {
    const { status, body } = await create({ ...taken, role_id });
    assert.equal(status, 422);
    assert.deepEqual(body.errors, [
      { field: "email", reason: "is already used by another user" },
      { field: "role_id", reason: "must be the ID of a role" },
    ]);
  }
});

test("an email is unique in an account ignoring case, even under twenty concurrent requests", async () => {
  const user = newUser();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      create({ ...user, email: i % 2 ? user.email.toUpperCase() : user.email }),
    ),
  );
  const refused = answers.filter(({ status }) => status === 422);
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.equal(refused.length, 19);
  for (const { body } of refused)
    assert.deepEqual(body.errors, [{ field: "email", reason: "is already used by another user" }]);
  const other = await makeAccount(api.app);
  assert.equal((await create(user, { token: other.token })).status, 201);
});

test("a repeated Idempotency-Key creates one user and gets the first answer, byte for byte", async () => {
  const json = newUser();
  const headers = { "idempotency-key": unique("key") };
  const first = await create(json, { headers });
  const again = await create(json, { headers });
  assert.equal(first.status, 201);
  assert.equal(again.status, 201);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal((await create(newUser(), { headers })).status, 422);
});

test("a change affects only the given fields, and null clears optional ones", async () => {
  const role_id = await createRole([]);
  const { body: user } = await create(newUser({ phone: "9876543210", extension: "20", role_id }));
  const renamed = await patch(user.id, { name: "Asha B" });
  assert.equal(renamed.status, 200);
  assert.deepEqual(
    { ...renamed.body, updated_at: "" },
    { ...user, name: "Asha B", updated_at: "" },
  );
  const cleared = await patch(user.id, { phone: null, extension: null, role_id: null });
  assert.equal(cleared.body.phone, null);
  assert.equal(cleared.body.extension, null);
  assert.equal(cleared.body.role_id, null);
  const own = await patch(user.id, { email: user.email.toUpperCase() });
  assert.equal(own.status, 200, "their own address is not taken");
});

test("refuses a change with an invalid field or without fields", async () => {
  const { body: user } = await create(newUser());
  const { body: neighbour } = await create(newUser());
  const cases: [object, string][] = [
    [{ name: null }, "name"],
    [{ email: null }, "email"],
    [{ email: "x" }, "email"],
    [{ email: neighbour.email }, "email"],
    [{ phone: "+919876543210" }, "phone"],
    [{ extension: "1234567" }, "extension"],
    [{ role_id: 0 }, "role_id"],
    [{ active: null }, "active"],
    [{ account_id: 1 }, "account_id"],
    [{}, "body"],
  ];
  for (const [json, field] of cases) {
    const { status, body } = await patch(user.id, json);
    assert.equal(status, 422, field);
    assert.deepEqual(
      body.errors.map((error: { field: string }) => error.field),
      [field],
    );
  }
});

test("the owner is neither deactivated nor given a role", async () => {
  const role_id = await createRole(["crm.read"]);
  const { status, body } = await patch(account.owner_id, { active: false, role_id });
  assert.equal(status, 422);
  assert.deepEqual(
    body.errors.map((error: { field: string }) => error.field),
    ["active", "role_id"],
  );
  const renamed = await patch(account.owner_id, { name: "Owner", active: true, role_id: null });
  assert.equal(renamed.status, 200);
  assert.equal(renamed.body.is_owner, true);
});

test("a deactivated user's token is refused from the next request on, and works again after", async () => {
  const user_id = await makeUser(api.app, account, ["users.read"]);
  const token = await makeToken(api.app, account, { kind: "agent", user_id });
  const status = async () => (await api.send("GET", "/api/v1/users", { token })).status;
  assert.equal(await status(), 200);
  await patch(user_id, { active: false });
  assert.equal(await status(), 401);
  await patch(user_id, { active: true });
  assert.equal(await status(), 200);
  await patch(user_id, { role_id: null });
  assert.equal(await status(), 403);
});

test("a write whose body arrives after its user got another role is refused", async () => {
  const user_id = await makeUser(api.app, account, ["users.read", "users.manage"]);
  const token = await makeToken(api.app, account, { kind: "agent", user_id });
  const { body: other } = await create(newUser({}));
  const slow = startSlowWrite(`${api.url}/api/v1/users/${other.id}`, {
    method: "PATCH",
    token,
    json: { name: "Renamed" },
  });
  // By then the server has read the headers of the first.
  await api.send("GET", "/api/v1/users", { token });
  assert.equal((await patch(user_id, { role_id: await createRole(["users.read"]) })).status, 200);
  assert.equal(await slow.finish(), 403);
  const { body: read } = await api.send("GET", `/api/v1/users/${other.id}`, {
    token: account.token,
  });
  assert.equal(read.name, other.name);
});

test("refuses to give a user more permissions than the grantor's, by role or by reactivation", async () => {
  const token = await makeAgentToken(api.app, account, ["users.manage", "crm.read"]);
  const greater = await createRole(["crm.read", "crm.write"]);
  const lesser = await createRole(["crm.read"]);
  assert.equal((await create(newUser({ role_id: greater }), { token })).status, 403);
  const { body: user } = await create(newUser({ role_id: lesser }), { token });
  const refused = await patch(user.id, { role_id: greater }, token);
  assert.equal(refused.status, 403);
  assert.equal(refused.body.type, "forbidden");
  assert.match(refused.body.detail, /crm\.write/);
  const { body: asleep } = await create(newUser({ role_id: greater, active: false }));
  assert.equal((await patch(asleep.id, { active: true }, token)).status, 403);
  assert.equal((await patch(user.id, { name: "Other", role_id: lesser }, token)).status, 200);
});

test("a user with more permissions than the grantor is neither changed nor deactivated", async () => {
  const token = await makeAgentToken(api.app, account, ["users.manage", "crm.read"]);
  const stronger = await makeUser(api.app, account, ["crm.read", "crm.export"]);
  const lesser = await createRole([]);
  for (const id of [account.owner_id, stronger])
    for (const json of [
      { email: `${unique("moved")}@test.example` },
      { name: "Renamed" },
      { role_id: lesser },
      { active: false },
    ]) {
      const { status, body } = await patch(id, json, token);
      assert.deepEqual([status, body.type], [403, "forbidden"], JSON.stringify(json));
    }
  const weaker = await makeUser(api.app, account, ["crm.read"]);
  const email = `${unique("moved")}@test.example`;
  assert.equal((await patch(weaker, { email, role_id: lesser, active: false }, token)).status, 200);
});

test("lists users by ID in consecutive pages", async () => {
  const own = await makeAccount(api.app);
  for (let i = 0; i < 4; i++) await makeUser(api.app, own);
  const ids: number[] = [];
  let cursor = "";
  do {
    const { body } = await api.send("GET", `/api/v1/users?limit=2${cursor}`, { token: own.token });
    assert.ok(body.data.length <= 2);
    ids.push(...body.data.map((user: { id: number }) => user.id));
    cursor = body.next_cursor && `&cursor=${body.next_cursor}`;
  } while (cursor);
  assert.equal(ids.length, 5);
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  const { status, body } = await api.send("GET", "/api/v1/users?cursor=x&limit=201", {
    token: own.token,
  });
  assert.equal(status, 422);
  assert.equal(body.errors[0].field, "limit");
  assert.equal(
    (await api.send("GET", "/api/v1/users?cursor=x", { token: own.token })).body.errors[0].field,
    "cursor",
  );
});

test("another account's user cannot be read or changed, and is indistinguishable from an unknown one", async () => {
  const other = await makeAccount(api.app);
  const without = (text: string) => text.replace(/"request_id":"[^"]*"/, "");
  for (const [method, json] of [
    ["GET", undefined],
    ["PATCH", { name: "Stolen" }],
  ] as const) {
    const foreign = await api.send(method, `/api/v1/users/${other.owner_id}`, {
      token: account.token,
      json,
    });
    const unknown = await api.send(method, "/api/v1/users/999999999", {
      token: account.token,
      json,
    });
    assert.equal(foreign.status, 404);
    assert.equal(without(foreign.text), without(unknown.text));
  }
});

test("users are read with users.read, changed only with users.manage, and by no one without a token", async () => {
  const reader = await makeAgentToken(api.app, account, ["users.read"]);
  const no_permissions = await makeAgentToken(api.app, account, null);
  assert.equal((await api.send("GET", "/api/v1/users", { token: reader })).status, 200);
  assert.equal((await create(newUser(), { token: reader })).status, 403);
  assert.equal((await patch(account.owner_id, { name: "X" }, reader)).status, 403);
  assert.equal((await api.send("GET", "/api/v1/users", { token: no_permissions })).status, 403);
  assert.equal((await api.send("GET", "/api/v1/users")).status, 401);
});

test("the audit trail records who created and changed a user, without personal data", async () => {
  const { body: user } = await create(newUser({ phone: "9876543210" }));
  await patch(user.id, { email: `${unique("new")}@test.example`, active: false });
  const { body } = await api.send("GET", `/api/v1/audit?subject_id=${user.id}`, {
    token: account.token,
  });
  const entries = body.data.filter((entry: { action: string }) => entry.action.startsWith("user."));
  assert.deepEqual(
    entries.map((entry: { action: string; user_id: number; detail: unknown }) => [
      entry.action,
      entry.user_id,
      entry.detail,
    ]),
    [
      [
        "user.updated",
        account.owner_id,
        { changed: ["email", "active"], role_id: null, active: false },
      ],
      ["user.created", account.owner_id, { role_id: null, active: true }],
    ],
  );
});
