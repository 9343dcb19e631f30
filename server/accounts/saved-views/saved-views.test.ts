import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;
let [ann, bob]: string[] = [];

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  ann = await makeAgentToken(api.app, account, []);
  bob = await makeAgentToken(api.app, account, []);
});
after(() => api.close());

const send = (method: string, path: string, token: string | undefined, json?: unknown) =>
  api.send(method, `/api/v1/saved-views${path}`, { token, json });

const view = (more: object = {}) => ({
  page: "leads",
  name: unique("view"),
  search: { statusId: 7, q: "ada" },
  columns: ["name", "status"],
  ...more,
});

async function save(token: string | undefined, more: object = {}) {
  const { status, body, text } = await send("POST", "", token, view(more));
  assert.equal(status, 201, text);
  return body;
}

const idsOf = async (token: string | undefined, query = "") => {
  const { body } = await send("GET", query, token);
  return body.data.map(({ id }: { id: number }) => id);
};

test("a view reads back as it was saved, is changed and deleted", async () => {
  const made = await save(ann);
  assert.deepEqual(
    [made.search, made.columns, made.shared],
    [{ statusId: 7, q: "ada" }, ["name", "status"], false],
  );
  const listed = (await send("GET", "?page=leads", ann)).body.data;
  assert.deepEqual(listed, [made]);
  assert.deepEqual(await idsOf(ann, "?page=calls"), []);
  const change = { name: "New", search: {}, columns: [] };
  const changed = await send("PATCH", `/${made.id}`, ann, change);
  assert.deepEqual(changed.body, { ...made, ...change, updated_at: changed.body.updated_at });
  assert.equal((await send("DELETE", `/${made.id}`, ann)).status, 204);
  assert.equal((await send("DELETE", `/${made.id}`, ann)).status, 404);
});

test("only its user sees a view until it is shared; then everyone in the account sees and may change it", async () => {
  const made = await save(ann);
  assert.ok(!(await idsOf(bob)).includes(made.id));
  for (const method of ["PATCH", "DELETE"])
    assert.equal((await send(method, `/${made.id}`, bob, { shared: true })).status, 404);
  await send("PATCH", `/${made.id}`, ann, { shared: true });
  assert.ok((await idsOf(bob)).includes(made.id));
  assert.equal((await send("PATCH", `/${made.id}`, bob, { name: "Team" })).status, 200);
  const taken = await send("PATCH", `/${made.id}`, bob, { shared: false });
  assert.equal(taken.status, 403);
  const other = await makeAccount(api.app);
  assert.ok(!(await idsOf(other.token)).includes(made.id));
  assert.equal((await send("DELETE", `/${made.id}`, other.token)).status, 404);
  assert.equal((await send("DELETE", `/${made.id}`, bob)).status, 204);
});

test("a user has one view of a name on a page, and another user may use the name too", async () => {
  const made = await save(ann);
  const again = await send("POST", "", ann, view({ name: made.name }));
  assert.equal(again.status, 422);
  assert.equal(again.body.errors[0].field, "name");
  await save(ann, { name: made.name, page: "calls" });
  await save(bob, { name: made.name });
});

test("a view is bounded in the size of its filters and in number", async () => {
  const large = { q: "x".repeat(4_000) };
  const columns = Array.from({ length: 51 }, (_, i) => `c${i}`);
  const { status, body } = await send(
    "POST",
    "",
    ann,
    view({ page: "No", search: large, columns }),
  );
  assert.equal(status, 422);
  assert.deepEqual(body.errors.map(({ field }: { field: string }) => field).toSorted(), [
    "columns",
    "page",
    "search",
  ]);
  const own = await makeAgentToken(api.app, account, []);
  for (let i = 0; i < 100; i++) await save(own);
  assert.equal((await send("POST", "", own, view())).status, 409);
});

test("a body other than an object is a 422", async () => {
  for (const body of ["text", 7, [], null])
    assert.equal((await send("POST", "", ann, body)).status, 422);
});
