// Every route of the list × {no token, malformed, unknown, revoked, expired, another account, wrong
// role, right}. A route without a row in route-rows.ts fails.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { features, permissionNames, type Permission } from "../../server/accounts/permissions.ts";
import type { Access, Route } from "../../server/api/route.ts";
import { routes } from "../../server/api/routes.ts";
import { assertCallError } from "../contract/call-api.ts";
import { assertProblem } from "../contract/lead-api.ts";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  type TestAccount,
} from "../support/account-factory.ts";
import { routeRows, type RouteRow, type RowRequest } from "./route-rows.ts";
import { seedIds, unknownIds, type Ids } from "./seed-ids.ts";

let api: TestApi;
let mine: TestAccount;
let foreign: TestAccount;
let foreignIds: Ids;

before(async () => {
  api = await startApi();
  mine = await makeAccount(api.app);
  foreign = await makeAccount(api.app);
  foreignIds = await seedIds(api, foreign, "theirs");
});
after(() => api.close());

const guarded = routes.filter(({ access }) => access !== "public");

const send = (method: string, { path, json, form, headers }: RowRequest, options: RequestOptions) =>
  api.send(method, path, {
    json,
    ...(form ? { raw: form } : {}),
    ...options,
    headers: { ...headers, ...options.headers },
  });

test("every route that is not public has a row, and every row a route", () => {
  assert.deepEqual([...routeRows.keys()].toSorted(), guarded.map(({ id }) => id).toSorted());
});

test("only what operators and machines ask of the process itself is public, and providers' webhooks", () => {
  const open = routes.filter(({ access }) => access === "public").map(({ url }) => url);
  assert.deepEqual([...new Set(open)].toSorted(), [
    "/health/live",
    "/health/ready",
    "/hooks/whatsapp",
    "/metrics",
    "/openapi.json",
  ]);
});

for (const route of guarded) {
  const row = routeRows.get(route.id);
  // One without a row is told by the test above.
  if (row) testRoute(route, row);
}

function testRoute({ method, url, access }: Route, row: RouteRow): void {
  const name = `${method} ${url}`;

  test(`${name} is for the feature and permissions of its row`, () => {
    const { features: needed = null, anyOf } = access as Access;
    assert.deepEqual(needed, row.features);
    assert.deepEqual([...namesOf(anyOf)].toSorted(), [...namesOf(row.may)].toSorted());
  });

  test(`${name} refuses every token that is not valid, and every valid one that may not`, async () => {
    const ids = await seedIds(api, mine, "ours");
    await assertUnauthorized(method, row, ids);
    await assertForbidden(method, row, ids);
    if (!row.installation) await assertForeignIsUnknown(method, row, ids);
    // The refusals above have harmed nothing: the same ids still do.
    assertSuccess(await send(method, row.request(ids), { token: mine.token }));
  });

  test(`${name} is open to ${row.may === "any_token" ? "every token" : "each of its permissions alone"}`, async () => {
    const roles = row.may === "any_token" ? [null, []] : row.may.map((permission) => [permission]);
    for (const permissions of roles) {
      const ids = await seedIds(api, mine, "ours");
      const token = await makeAgentToken(api.app, mine, permissions);
      assertSuccess(await send(method, row.request(ids), { token }));
    }
  });
}

function namesOf(may: RouteRow["may"]): readonly string[] {
  return may === "any_token" ? [may] : may;
}

function assertRefused(row: RouteRow, answer: Answer, status: number, type: string): void {
  if (row.own_errors) assertCallError(answer, status);
  else assertProblem(answer, status, type);
}

function assertSuccess({ status, text }: Answer): void {
  assert.ok(status >= 200 && status < 300, `${status} ${text}`);
}

async function assertUnauthorized(method: string, row: RouteRow, ids: Ids): Promise<void> {
  const past = new Date(Date.now() - 1_000);
  const expired = await makeToken(api.app, mine, { expires_at: past });
  const revoked = await makeToken(api.app, mine);
  await api.app.db.query
    .updateTable("tokens")
    .set({ revoked_at: past })
    .where("account_id", "=", mine.account_id)
    .where("id", "=", Number(revoked.split("_")[2]))
    .execute();
  const unknown = mine.token.replace(/_[^_]+$/, `_${"0".repeat(64)}`);
  const headers: Record<string, string>[] = [
    {},
    { authorization: mine.token },
    { authorization: `Basic ${mine.token}` },
    ...[unknown, revoked, expired].map((token) => ({ authorization: `Bearer ${token}` })),
  ];
  for (const [i, header] of headers.entries()) {
    const answer = await send(method, row.request(ids), { headers: header });
    assertRefused(row, answer, 401, "unauthorized");
    assert.ok(answer.headers.get("www-authenticate"), `case ${i}`);
  }
}

async function assertForbidden(method: string, row: RouteRow, ids: Ids): Promise<void> {
  const tokens: string[] = [];
  if (row.may !== "any_token") {
    tokens.push(await makeToken(api.app, mine, { scopes: permissionsBut(row.may) }));
    for (const token of await agentsWithout(row.may, ids)) {
      const answer = await send(method, row.request(ids), { token });
      assertRefused(row, answer, 403, row.agent_denied ?? "forbidden");
    }
  }
  const { features: needed } = row;
  if (needed !== null) {
    const without = features.filter((feature) => !needed.includes(feature));
    tokens.push((await makeAccount(api.app, { features: without })).token);
  }
  for (const token of tokens) {
    assertRefused(row, await send(method, row.request(ids), { token }), 403, "forbidden");
  }
}

/** Agents' tokens that have each a reason not to have any of these permissions. */
async function agentsWithout(may: readonly Permission[], { user_id }: Ids): Promise<string[]> {
  return [
    await makeAgentToken(api.app, mine, null),
    await makeAgentToken(api.app, mine, permissionsBut(may)),
    await makeToken(api.app, mine, { kind: "agent", user_id, scopes: [...may] }),
  ];
}

function permissionsBut(may: readonly Permission[]): Permission[] {
  return permissionNames.filter((permission) => !may.includes(permission));
}

/** Ids of the first account, sent by the other: all of them at once, and each beside its own. */
async function assertForeignIsUnknown(method: string, row: RouteRow, ids: Ids): Promise<void> {
  const used = namesUsed(row);
  const mixes: [Ids, Ids][] = [
    [ids, unknownIds],
    ...used.map((name): [Ids, Ids] => [
      { ...foreignIds, [name]: ids[name] },
      { ...foreignIds, [name]: unknownIds[name] },
    ]),
  ];
  if (used.length === 0) {
    const answer = await send(method, row.request(ids), { token: foreign.token });
    assert.doesNotMatch(answer.text, /ours/);
    return;
  }
  for (const [theirs, nobodys] of mixes) {
    const found = await send(method, row.request(theirs), { token: foreign.token });
    const expected = await send(method, row.request(nobodys), { token: foreign.token });
    assert.equal(comparable(found), comparable(expected));
    assert.doesNotMatch(found.text, /ours/);
    if (method !== "GET") assert.ok(found.status >= 400 && found.status < 500, found.text);
  }
}

/** Which ids a row's request names. */
function namesUsed(row: RouteRow): (keyof Ids)[] {
  const used = new Set<keyof Ids>();
  const watching = new Proxy(unknownIds, {
    get: (ids, name: keyof Ids) => {
      used.add(name);
      return ids[name];
    },
  });
  row.request(watching);
  return [...used];
}

/** All of an answer but what belongs to the one request. */
function comparable({ status, headers, text, body }: Answer): string {
  const own = new Set(["x-request-id", "date", "connection", "keep-alive"]);
  for (const figure of ["limit", "remaining", "reset"]) own.add(`ratelimit-${figure}`);
  const kept = [...headers].filter(([name]) => !own.has(name));
  const requestId = (body as { request_id?: string } | undefined)?.request_id;
  return JSON.stringify([status, kept, requestId ? text.replace(requestId, "") : text]);
}
