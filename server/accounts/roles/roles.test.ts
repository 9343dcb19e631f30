import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { permissionNames } from "../permissions.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const newRole = (permissions: string[] = []) => ({ name: unique("role"), permissions });
const create = (json: unknown, token = account.token) =>
  api.send("POST", "/api/v1/roles", { token, json });
const patch = (id: number, json: unknown, token = account.token) =>
  api.send("PATCH", `/api/v1/roles/${id}`, { token, json });
const remove = (id: number, token = account.token) =>
  api.send("DELETE", `/api/v1/roles/${id}`, { token });
const createUserWith = (role_id: number) =>
  api.send("POST", "/api/v1/users", {
    token: account.token,
    json: { name: "U", email: `${unique("u")}@test.example`, role_id },
  });
const userWith = async (role_id: number) => (await createUserWith(role_id)).body.id as number;

test("the catalogue names every permission with what it allows", async () => {
  const { status, body } = await api.send("GET", "/api/v1/permissions", { token: account.token });
  assert.equal(status, 200);
  assert.deepEqual(
    body.data.map((permission: { name: string }) => permission.name),
    permissionNames,
  );
  assert.ok(body.data.every(({ description }: { description: string }) => description.length > 0));
});

test("a role is created, read, listed, changed and deleted", async () => {
  const given = newRole(["crm.read", "crm.write"]);
  const created = await create(given);
  assert.equal(created.status, 201);
  assert.deepEqual({ ...created.body, ...given }, created.body);
  const { id } = created.body;
  const read = await api.send("GET", `/api/v1/roles/${id}`, { token: account.token });
  assert.deepEqual(read.body, created.body);
  const listed = await api.send("GET", "/api/v1/roles?limit=200", { token: account.token });
  assert.ok(listed.body.data.some((role: { id: number }) => role.id === id));
  const changed = await patch(id, { permissions: [] });
  assert.equal(changed.status, 200);
  assert.deepEqual([changed.body.name, changed.body.permissions], [given.name, []]);
  const deleted = await remove(id);
  assert.deepEqual([deleted.status, deleted.text], [204, ""]);
  assert.equal((await remove(id)).status, 404);
});

test("a role's name is unique, and every invalid field is reported with its reason", async () => {
  const { body: taken } = await create(newRole());
  const { body: role } = await create(newRole());
  for (const answer of [
    await create({ name: taken.name, permissions: [] }),
    await patch(role.id, { name: taken.name }),
  ]) {
    assert.equal(answer.status, 422);
    assert.deepEqual(answer.body.errors, [
      { field: "name", reason: "is already the name of a role" },
    ]);
  }
  const cases: [object, string[]][] = [
    [{}, ["name", "permissions"]],
    [{ name: "", permissions: [] }, ["name"]],
    [{ name: "x", permissions: ["crm.everything"] }, ["permissions.0"]],
    [{ name: "x", permissions: ["crm.read", "crm.read"] }, ["permissions"]],
    [{ name: "x", permissions: null }, ["permissions"]],
    [{ name: "x", permission: [], permissions: [] }, ["permission"]],
  ];
  for (const [json, fields] of cases) {
    const { status, body } = await create(json);
    assert.equal(status, 422);
    assert.deepEqual(
      body.errors.map((error: { field: string }) => error.field),
      fields,
    );
  }
  assert.equal((await patch(role.id, {})).status, 422);
});

test("a role that a user has, active or not, is not deleted", async () => {
  const { body: role } = await create(newRole());
  const user = await userWith(role.id);
  await api.send("PATCH", `/api/v1/users/${user}`, {
    token: account.token,
    json: { active: false },
  });
  const refused = await remove(role.id);
  assert.equal(refused.status, 409);
  assert.equal(refused.body.type, "conflict");
  await api.send("PATCH", `/api/v1/users/${user}`, {
    token: account.token,
    json: { role_id: null },
  });
  assert.equal((await remove(role.id)).status, 204);
});

test("deleting a role while it is assigned to users never keeps a user with a deleted role", async () => {
  for (let round = 0; round < 5; round++) {
    const { body: role } = await create(newRole());
    const users = [1, 2, 3].map(() => createUserWith(role.id));
    const deleted = await remove(role.id);
    const statuses = (await Promise.all(users)).map(({ status }) => status);
    assert.equal(deleted.status, statuses.includes(201) ? 409 : 204);
    for (const status of statuses) assert.ok(status === 201 || status === 422, String(status));
  }
});

test("a change to a role applies to its users' tokens from the next request on", async () => {
  const { body: role } = await create(newRole(["users.read"]));
  const user_id = await userWith(role.id);
  const token = await makeToken(api.app, account, { kind: "agent", user_id });
  const status = async () => (await api.send("GET", "/api/v1/users", { token })).status;
  assert.equal(await status(), 200);
  await patch(role.id, { permissions: ["audit.read"] });
  assert.equal(await status(), 403);
  await patch(role.id, { permissions: ["users.read"] });
  assert.equal(await status(), 200);
});

test("refuses to create, extend, narrow or delete a role beyond the grantor's permissions", async () => {
  const token = await makeAgentToken(api.app, account, ["users.manage", "crm.read"]);
  const refused = await create(newRole(["crm.read", "crm.write", "tokens.manage"]), token);
  assert.equal(refused.status, 403);
  assert.equal(
    refused.body.detail,
    "You cannot grant permissions that you do not have: crm.write, tokens.manage",
  );
  const { body: own } = await create(newRole(["crm.read"]), token);
  assert.equal(
    (await patch(own.id, { permissions: ["crm.read", "crm.write"] }, token)).status,
    403,
  );
  assert.equal((await patch(own.id, { permissions: [] }, token)).status, 200);
  const { body: role } = await create(newRole(["crm.write", "audit.read"]));
  for (const json of [{ permissions: ["crm.read"] }, { permissions: [] }, { name: "Renamed" }])
    assert.equal((await patch(role.id, json, token)).status, 403, JSON.stringify(json));
  assert.equal((await api.send("DELETE", `/api/v1/roles/${role.id}`, { token })).status, 403);
  assert.equal((await api.send("DELETE", `/api/v1/roles/${own.id}`, { token })).status, 204);
  const scoped = await makeToken(api.app, account, { scopes: ["users.manage"] });
  assert.equal((await create(newRole(["crm.read"]), scoped)).status, 403);
});

test("another account's role is indistinguishable from an unknown one", async () => {
  const other = await makeAccount(api.app);
  const { body: foreign } = await create(newRole(), other.token);
  const without = (text: string) => text.replace(/"request_id":"[^"]*"/, "");
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const json = method === "PATCH" ? { name: "Stolen" } : undefined;
    const options = { token: account.token, json };
    const unknown = await api.send(method, "/api/v1/roles/999999999", options);
    const answer = await api.send(method, `/api/v1/roles/${foreign.id}`, options);
    assert.equal(answer.status, 404);
    assert.equal(without(answer.text), without(unknown.text));
  }
});

test("roles are read with users.read and changed only with users.manage", async () => {
  const reader = await makeAgentToken(api.app, account, ["users.read"]);
  const { body: role } = await create(newRole());
  assert.equal((await api.send("GET", "/api/v1/roles", { token: reader })).status, 200);
  assert.equal((await create(newRole(), reader)).status, 403);
  assert.equal((await patch(role.id, { name: "x" }, reader)).status, 403);
  assert.equal((await remove(role.id, reader)).status, 403);
  assert.equal((await api.send("GET", "/api/v1/roles")).status, 401);
  const none = await makeAgentToken(api.app, account, ["crm.read"]);
  assert.equal((await api.send("GET", "/api/v1/permissions", { token: none })).status, 403);
});

test("the audit trail records a role's creation, change and deletion", async () => {
  const { body: role } = await create(newRole(["crm.read"]));
  await patch(role.id, { permissions: [] });
  await remove(role.id);
  const { body } = await api.send("GET", `/api/v1/audit?subject_id=${role.id}`, {
    token: account.token,
  });
  assert.deepEqual(
    body.data
      .filter((entry: { action: string }) => entry.action.startsWith("role."))
      .map((entry: { action: string; detail: unknown }) => [entry.action, entry.detail]),
    [
      ["role.deleted", {}],
      ["role.updated", { changed: ["permissions"], permissions: [] }],
      ["role.created", { permissions: ["crm.read"] }],
    ],
  );
});
