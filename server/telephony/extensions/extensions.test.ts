import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAccount,
  makeAgentToken,
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
after(() => api.close());

const request = (method: string, under: string, json?: unknown, of: { token: string } = account) =>
  api.send(method, `/api/v1/extensions${under}`, { token: of.token, json });

let numbers = 200;
const freeNumber = () => String(++numbers);

/** Creates an account without the feature operator. */
const makeTenant = () => makeAccount(api.app, { features: ["calls"] });

async function makePhone(more: { endpoint?: string }, of: TestAccount) {
  const wanted = { extension: freeNumber(), name: "Phone", ...more };
  const { status, body, text } = await request("POST", "", wanted, of);
  assert.equal(status, 201, text);
  return body;
}

test("an extension is created, read, listed, updated and deleted", async () => {
  const extension = freeNumber();
  const user_id = await makeUser(api.app, account);
  const wanted = { extension, name: "Asha's phone", user_id, endpoint: "asha", digit: "4" };
  const created = await request("POST", "", wanted);
  assert.equal(created.status, 201, created.text);
  const { id } = created.body;
  assert.deepEqual(
    { ...created.body, ...wanted, updated_at: created.body.created_at },
    created.body,
  );
  assert.deepEqual((await request("GET", `/${id}`)).body, created.body);
  const listed = await request("GET", "?limit=200");
  assert.deepEqual(listed.body.data.at(-1), created.body);
  const cleared = await request("PATCH", `/${id}`, { user_id: null, digit: null, name: "Phone" });
  assert.deepEqual(
    [cleared.status, cleared.body.user_id, cleared.body.digit, cleared.body.name],
    [200, null, null, "Phone"],
  );
  assert.equal((await request("DELETE", `/${id}`)).status, 204);
  for (const [method, json] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const)
    assert.equal((await request(method, `/${id}`, json)).status, 404, method);
});

test("an extension's endpoint defaults to its number, with the account's prefix unless it is an operator's", async () => {
  const extension = freeNumber();
  const tenant = await makeTenant();
  for (const [of, endpoint] of [
    [account, extension],
    [tenant, `a${tenant.account_id}-${extension}`],
  ] as const) {
    const { body } = await request("POST", "", { extension, name: "Phone" }, of);
    assert.deepEqual([body.endpoint, body.digit, body.user_id], [endpoint, null, null]);
  }
});

test("only an operator's account may use the endpoint of another account's phone or of a trunk", async () => {
  const [own, other] = [await makeTenant(), await makeTenant()];
  const operators = await makePhone({ endpoint: "phone" }, account);
  const foreign = await makePhone({}, other);
  const carrier = { name: unique("carrier"), endpoint: "carrier1", nodes: [] };
  const trunk = await api.send("POST", "/api/v1/trunks", { token: account.token, json: carrier });
  const mine = await makePhone({}, own);
  const prefix = `a${own.account_id}-`;
  const violations = [{ field: "endpoint", reason: `must begin with ${prefix}` }];
  for (const endpoint of [
    operators.endpoint,
    foreign.endpoint,
    trunk.body.endpoint,
    mine.extension,
    prefix.slice(0, -1),
    `x${prefix}201`,
    `a${own.account_id}0-201`,
    `A${own.account_id}-201`,
  ]) {
    const wanted = { extension: freeNumber(), name: "Phone", endpoint };
    const created = await request("POST", "", wanted, own);
    assert.deepEqual([created.status, created.body.errors], [422, violations], endpoint);
    const changed = await request("PATCH", `/${mine.id}`, { endpoint }, own);
    assert.deepEqual([changed.status, changed.body.errors], [422, violations], endpoint);
    const free = { extension: freeNumber(), name: "Phone", endpoint };
    assert.equal((await request("POST", "", free)).status, 201, endpoint);
  }
  assert.deepEqual((await request("GET", `/${mine.id}`, undefined, own)).body, mine);
  const endpoint = `${prefix}phone`;
  const named = await request("PATCH", `/${mine.id}`, { endpoint }, own);
  assert.deepEqual([named.status, named.body.endpoint], [200, endpoint]);
});

test("an extension keeps its endpoint under a new number", async () => {
  for (const owner of [account, await makeTenant()]) {
    const { id, endpoint } = await makePhone({}, owner);
    const changed = await request("PATCH", `/${id}`, { extension: freeNumber() }, owner);
    assert.deepEqual([changed.status, changed.body.endpoint], [200, endpoint]);
  }
});

test("numbers and keys are unique in an account, and every violation is reported at once", async () => {
  const extension = freeNumber();
  const held = await request("POST", "", { extension, name: "Phone", digit: "7" });
  const violations = [
    { field: "extension", reason: "is already an extension" },
    { field: "digit", reason: `is already the key of extension ${extension}` },
    { field: "user_id", reason: "matches no user" },
  ];
  const foreign = await makeUser(api.app, await makeAccount(api.app));
  const taken = { extension, digit: "7", user_id: foreign };
  const created = await request("POST", "", { ...taken, name: "Other" });
  assert.deepEqual([created.status, created.body.errors], [422, violations]);
  const other = await request("POST", "", { extension: freeNumber(), name: "Other" });
  assert.deepEqual((await request("PATCH", `/${other.body.id}`, taken)).body.errors, violations);
  const kept = await request("PATCH", `/${held.body.id}`, { extension, digit: "7" });
  assert.equal(kept.status, 200, kept.text);
  const elsewhere = await makeAccount(api.app);
  const same = { extension, name: "Phone", digit: "7" };
  assert.equal((await request("POST", "", same, elsewhere)).status, 201);
});

test("concurrent creations of one extension create it once", async () => {
  const extension = freeNumber();
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => request("POST", "", { extension, name: "Phone" })),
  );
  const refused = answers.filter(({ status }) => status === 422);
  assert.deepEqual([answers.length - refused.length, refused.length], [1, 3]);
  for (const answer of refused) assert.deepEqual(failingFields(answer), ["extension"]);
});

test("every invalid field of an extension is reported", async () => {
  const good = { extension: "299", name: "Phone" };
  const cases: [unknown, string[]][] = [
    [{}, ["extension", "name"]],
    [{ ...good, extension: "1" }, ["extension"]],
    [{ ...good, extension: "1234567" }, ["extension"]],
    [{ ...good, extension: 101 }, ["extension"]],
    [{ ...good, name: " " }, ["name"]],
    [{ ...good, digit: "10" }, ["digit"]],
    [{ ...good, digit: "*" }, ["digit"]],
    [{ ...good, endpoint: "a b" }, ["endpoint"]],
    [{ ...good, endpoint: "e".repeat(80) }, ["endpoint"]],
    [{ ...good, user_id: 2 ** 62 }, ["user_id"]],
    [{ ...good, number: "1" }, ["number"]],
  ];
  for (const [json, fields] of cases)
    assert.deepEqual(failingFields(await request("POST", "", json)), fields, JSON.stringify(json));
});

test("a group keeps a renumbered extension, and loses a deleted one", async () => {
  const [earlier, later] = [freeNumber(), freeNumber()];
  const { body } = await request("POST", "", { extension: earlier, name: "Phone" });
  const groups = "/api/v1/agent-groups";
  const own = { token: account.token };
  const [one, both] = await Promise.all(
    ["one", "both"].map(
      async (name) => (await api.send("POST", groups, { ...own, json: { name } })).body.id,
    ),
  );
  const add = (group: number, number: string) =>
    api.send("POST", `${groups}/${group}/members`, { ...own, json: { number } });
  const numbersOf = async (group: number) =>
    (await api.send("GET", `${groups}/${group}/members`, own)).body.data.map(
      (member: { number: string; name: string | null }) => [member.number, member.name],
    );
  await add(one, earlier);
  await add(both, earlier);
  await add(both, later);
  assert.equal((await request("PATCH", `/${body.id}`, { extension: later })).status, 200);
  for (const group of [one, both]) assert.deepEqual(await numbersOf(group), [[later, "Phone"]]);
  assert.equal((await request("DELETE", `/${body.id}`)).status, 204);
  for (const group of [one, both]) assert.deepEqual(await numbersOf(group), []);
});

test("changes of extensions are audited", async () => {
  const own = await makeAccount(api.app);
  const { body } = await request("POST", "", { extension: "201", name: "Phone" }, own);
  await request("PATCH", `/${body.id}`, { name: "Phone 1" }, own);
  await request("DELETE", `/${body.id}`, undefined, own);
  const audit = await api.send("GET", `/api/v1/audit?subject_id=${body.id}`, { token: own.token });
  assert.deepEqual(
    audit.body.data.map(({ action, detail }: { action: string; detail: unknown }) => [
      action,
      detail,
    ]),
    [
      ["extension.deleted", { extension: "201" }],
      ["extension.updated", { changed: ["name"] }],
      ["extension.created", { extension: "201" }],
    ],
  );
});

test("extensions are read with agents.read and changed only with agents.manage", async () => {
  const reader = { token: await makeAgentToken(api.app, account, ["agents.read"]) };
  assert.equal((await request("GET", "", undefined, reader)).status, 200);
  const wanted = { extension: freeNumber(), name: "Phone" };
  assert.equal((await request("POST", "", wanted, reader)).status, 403);
  const without = await makeAccount(api.app, { features: ["crm", "bulk_chat"] });
  assert.equal((await request("GET", "", undefined, without)).status, 403);
});
