// Tests every route with {no token, a malformed, unknown, revoked or expired token, another account's
// token, a wrong role, a valid token}. A route without a row in route-rows.ts fails.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  features,
  permissionNames,
  type Feature,
  type Permission,
} from "../../server/accounts/permissions.ts";
import type { Access, Route } from "../../server/api/route.ts";
import { routes } from "../../server/api/routes.ts";
import { assertCallError } from "../contract/call-api.ts";
import { assertProblem } from "../contract/lead-api.ts";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  makeUser,
  type TestAccount,
} from "../support/account-factory.ts";
import { idsUsedBy, routeRows, type RouteRow, type RowRequest } from "./route-rows.ts";
import { openSeed, seedIds, unknownIds, type Ids, type Seed } from "./seed-ids.ts";

let api: TestApi;
let mine: TestAccount;
let seed: Seed;
let foreign: TestAccount;
let foreignIds: Ids;

before(async () => {
  api = await startApi();
  mine = await makeAccount(api.app);
  seed = await openSeed(api, mine, "our-own");
  foreign = await makeAccount(api.app);
  foreignIds = await seedIds(api, foreign, "theirs");
});
after(() => api.close());

const guarded = routes.filter(
  ({ access }) => access !== "public" && access.anyOf !== "session", // sessions.test.ts
);

const send = (method: string, { path, json, form, headers }: RowRequest, options: RequestOptions) =>
  api.send(method, path, {
    json,
    ...(form ? { raw: form } : {}),
    ...options,
    headers: { ...headers, ...options.headers },
  });

test("every route that is not public has a row, and every row has a route", () => {
  assert.deepEqual([...routeRows.keys()].toSorted(), guarded.map(({ id }) => id).toSorted());
});

test("only health, metrics, documentation, provider webhooks and signing in are public", () => {
  const open = routes.filter(({ access }) => access === "public").map(({ url }) => url);
  assert.deepEqual([...new Set(open)].toSorted(), [
    "/api/v1/session",
    "/api/v1/session/invitation",
    "/api/v1/session/invitation/preview",
    "/api/v1/session/link",
    "/api/v1/session/oidc",
    "/api/v1/session/oidc/answer",
    "/api/v1/session/options",
    "/api/v1/session/passkey",
    "/api/v1/session/passkey/options",
    "/api/v1/session/password-reset",
    "/health/live",
    "/health/ready",
    "/hooks/whatsapp",
    "/hooks/whatsapp/:account_id",
    "/metrics",
    "/openapi.json",
  ]);
});

test("every route requires the features and permissions of its row", () => {
  const actual = guarded.map(({ id, access }) => {
    const { features: needed = null, anyOf } = access as Access;
    return [id, needed, [...namesOf(anyOf)].toSorted()];
  });
  const expected = guarded.map(({ id }) => {
    const row = routeRows.get(id);
    return [id, row?.features, row && [...namesOf(row.may)].toSorted()];
  });
  assert.deepEqual(actual, expected);
});

for (const route of guarded) {
  const row = routeRows.get(route.id);
  // The first test reports a route without a row.
  if (row) testRoute(route, row);
}

function testRoute({ method, url }: Route, row: RouteRow): void {
  const name = `${method} ${url}`;

  test(`${name} refuses every token that is invalid or lacks its permissions`, async () => {
    const ids = seed.ids();
    await assertUnauthorized(method, row, ids);
    await assertForbidden(method, row, ids);
    if (!row.installation) await assertForeignIsUnknown(method, row, ids);
    // The refused requests changed nothing, so the same IDs still exist.
    await assertOpen(method, row, mine.token);
  });

  test(`${name} is open to ${row.may === "any_token" ? "every token" : "each of its permissions alone"}`, async () => {
    const roles = row.may === "any_token" ? [null, []] : row.may.map((permission) => [permission]);
    for (const permissions of roles) {
      await assertOpen(method, row, await agentWith(permissions));
    }
  });
}

/** Expects success, and replaces the seeded rows that the request may have changed. */
async function assertOpen(method: string, row: RouteRow, token: string): Promise<void> {
  const { status, text } = await send(method, row.request(seed.ids()), { token });
  const isOpen = row.socket ? status === 400 : status >= 200 && status < 300;
  assert.ok(isOpen, `${status} ${text}`);
  if (method !== "GET") await seed.reseed(idsUsedBy(row));
}

function namesOf(may: Access["anyOf"]): readonly string[] {
  return typeof may === "string" ? [may] : may;
}

function assertRefused(row: RouteRow, answer: Answer, status: number, type: string): void {
  if (row.own_errors) assertCallError(answer, status);
  else assertProblem(answer, status, type);
}

async function assertUnauthorized(method: string, row: RouteRow, ids: Ids): Promise<void> {
  for (const [name, headers] of await unauthorizedHeaders()) {
    const answer = await send(method, row.request(ids), { headers });
    assertRefused(row, answer, 401, "unauthorized");
    assert.ok(answer.headers.get("www-authenticate"), name);
  }
}

const unauthorizedHeaders = once(async (): Promise<[string, Record<string, string>][]> => {
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
  return [
    ["none", {}],
    ["without a scheme", { authorization: mine.token }],
    ["another scheme", { authorization: `Basic ${mine.token}` }],
    ["unknown", { authorization: `Bearer ${unknown}` }],
    ["revoked", { authorization: `Bearer ${revoked}` }],
    ["expired", { authorization: `Bearer ${expired}` }],
  ];
});

async function assertForbidden(method: string, row: RouteRow, ids: Ids): Promise<void> {
  const tokens: string[] = [];
  if (row.may !== "any_token") {
    tokens.push(await accountTokenWithout(row.may));
    for (const token of await agentsWithout(row.may)) {
      const answer = await send(method, row.request(ids), { token });
      assertRefused(row, answer, 403, row.agent_denied ?? "forbidden");
    }
  }
  if (row.features !== null) tokens.push(await tokenOfAccountWithout(row.features));
  for (const token of tokens) {
    assertRefused(row, await send(method, row.request(ids), { token }), 403, "forbidden");
  }
}

// Routes with the same permissions share their tokens.
const agentWith = once((permissions: readonly Permission[] | null) =>
  makeAgentToken(api.app, mine, permissions),
);

const accountTokenWithout = once((may: readonly Permission[]) =>
  makeToken(api.app, mine, { scopes: permissionsBut(may) }),
);

const tokenOfAccountWithout = once(async (needed: readonly Feature[]) => {
  const others = features.filter((feature) => !needed.includes(feature));
  return (await makeAccount(api.app, { features: others })).token;
});

/** Creates agent tokens that each lack these permissions for a different reason. */
const agentsWithout = once(async (may: readonly Permission[]) => [
  await agentWith(null),
  await agentWith(permissionsBut(may)),
  // The scopes include the permissions, but the user has no role.
  await makeToken(api.app, mine, {
    kind: "agent",
    user_id: await makeUser(api.app, mine),
    scopes: [...may],
  }),
]);

/** Calls `make` once for each distinct list of arguments. */
function once<Args extends unknown[], Made>(
  make: (...args: Args) => Promise<Made>,
): (...args: Args) => Promise<Made> {
  const made = new Map<string, Promise<Made>>();
  return (...args) => {
    const key = JSON.stringify(args);
    const found = made.get(key) ?? make(...args);
    made.set(key, found);
    return found;
  };
}

function permissionsBut(may: readonly Permission[]): Permission[] {
  return permissionNames.filter((permission) => !may.includes(permission));
}

/** Sends IDs of `mine` as the foreign account: all at once, then each together with the account's own. */
async function assertForeignIsUnknown(method: string, row: RouteRow, ids: Ids): Promise<void> {
  const used = idsUsedBy(row);
  const pairs: [Ids, Ids][] = [
    [ids, unknownIds],
    ...used.map((name): [Ids, Ids] => [
      { ...foreignIds, [name]: ids[name] },
      { ...foreignIds, [name]: unknownIds[name] },
    ]),
  ];
  if (used.length === 0) {
    const answer = await send(method, row.request(ids), { token: foreign.token });
    assert.doesNotMatch(answer.text, /our-own/);
    return;
  }
  for (const [existing, unknown] of pairs) {
    const found = await send(method, row.request(existing), { token: foreign.token });
    const expected = await send(method, row.request(unknown), { token: foreign.token });
    assert.equal(comparable(found), comparable(expected));
    assert.doesNotMatch(found.text, /our-own/);
    if (method !== "GET") assert.ok(found.status >= 400 && found.status < 500, found.text);
  }
}

/** Returns everything of a response except what differs between requests. */
function comparable({ status, headers, text, body }: Answer): string {
  const own = new Set(["x-request-id", "date", "connection", "keep-alive"]);
  for (const figure of ["limit", "remaining", "reset"]) own.add(`ratelimit-${figure}`);
  const kept = [...headers].filter(([name]) => !own.has(name));
  const requestId = (body as { request_id?: string } | undefined)?.request_id;
  return JSON.stringify([status, kept, requestId ? text.replace(requestId, "") : text]);
}
