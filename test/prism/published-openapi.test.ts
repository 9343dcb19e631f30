// Validates the published OpenAPI document against the routes, the standard and the API's responses,
// with independent validators.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Route } from "../../server/api/route.ts";
import { routes } from "../../server/api/routes.ts";
import { leadPath } from "../contract/lead-api.ts";
import { idsUsedBy, routeRows, type RowRequest } from "../matrix/route-rows.ts";
import { openSeed, unknownIds, type Ids, type Seed } from "../matrix/seed-ids.ts";
import { send, startApi, type RequestOptions, type TestApi } from "../support/api.ts";
import { makeAccount, makeAgentToken, type TestAccount } from "../support/account-factory.ts";
import { sandboxStub } from "../support/sandbox-stub.ts";
import { hookRequests, own_credential, whatsapp, whatsappAccess } from "./provider-hooks.ts";
import { startOidcStub, type OidcStub } from "../support/oidc-stub.ts";
import { openOidc } from "../../server/drivers/oidc/open-oidc.ts";
import { sessionRequests } from "./session-requests.ts";
import { validateOpenApi } from "./validate-openapi.ts";
import { startPrism, type PrismProcess } from "./prism-process.ts";

type Document = {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { operationId?: string }>>;
};

type Altered = {
  readonly components: { readonly schemas: { readonly Lead: { readonly required: string[] } } };
};

let api: TestApi;
let prism: PrismProcess;
let account: TestAccount;
let seed: Seed;
let document: Document;
let provider: OidcStub;

before(async () => {
  provider = await startOidcStub();
  api = await startApi({
    oidc: openOidc(provider.settings),
    chatDrivers: { sandbox: sandboxStub, whatsapp, whatsappAccess },
    mail: { send: async () => {} },
  });
  account = await makeAccount(api.app);
  seed = await openSeed(api, account, "published");
  document = (await api.send("GET", "/openapi.json")).body;
  prism = await startPrism(`${api.url}/openapi.json`, api.url);
});
after(async () => {
  await prism.stop();
  await api.close();
  await whatsapp.close();
  await whatsappAccess.close();
  await provider.close();
});

test("the document is valid OpenAPI 3.1", async () => {
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(await validateOpenApi(document), "valid");
});

test("the document contains exactly the routes, each under its ID", () => {
  const published = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) => `${method.toUpperCase()} ${path} ${operation.operationId}`,
    ),
  );
  const declared = routes.map(
    ({ method, url, id }) => `${method} ${url.replaceAll(/:(\w+)/g, "{$1}")} ${id}`,
  );
  assert.deepEqual(published.toSorted(), declared.toSorted());
  assert.equal(new Set(routes.map(({ id }) => id)).size, routes.length);
});

/** The routes that Prism can validate: it waits for the end of a response. */
const finite_routes = routes.filter(({ endless }) => !endless);

test("every response to a valid request conforms to the document", async (t) => {
  // The codes of authenticator apps must not expire meanwhile.
  api.clock.set(new Date());
  t.after(() => api.clock.release());
  const { account_id } = await makeAccount(api.app);
  const { token } = account;
  const credential = `/api/v1/whatsapp-credentials/${account_id}`;
  const set = await api.send("PUT", credential, { token, json: own_credential });
  assert.equal(set.status, 200, set.text);
  const tokenless = {
    ...hookRequests(account_id),
    ...(await sessionRequests(api, token, provider)),
  };
  for (const route of finite_routes) {
    const other = tokenless[route.id];
    const row = routeRows.get(route.id);
    const valid = other ?? row?.request(seed.ids()) ?? { path: route.url };
    const status = await sendValidated(route, valid, other?.options ?? { token });
    assert.ok(status >= 200 && status < 300, `${route.id}: ${status}`);
    if (row && route.method !== "GET") await seed.reseed(idsUsedBy(row));
  }
});

test("the reject list as CSV conforms to the document", async () => {
  const route = routes.find(({ id }) => id === "listLeadRejects")!;
  const { path } = routeRows.get(route.id)!.request(seed.ids());
  assert.equal(
    await sendValidated(route, { path: `${path}&format=csv` }, { token: account.token }),
    200,
  );
});

test("every error conforms to the document", async () => {
  const powerless = await makeAgentToken(api.app, account, []);
  const { token } = account;
  const ids = seed.ids();
  for (const route of finite_routes) {
    const request = (some: Ids) => routeRows.get(route.id)?.request(some) ?? { path: route.url };
    await sendValidated(route, request(ids), {});
    await sendValidated(route, request(ids), { token: powerless });
    await sendValidated(route, request(unknownIds), { token });
    await sendValidated(route, { path: request(ids).path }, { token });
    if (route.method === "GET") continue;
    // Malformed JSON is not tested: Prism itself never responds to it.
    for (const raw of ["[]", "{}", '{"unknown":1}', '{"name":1,"phone":2,"label":3,"text":4}']) {
      const headers = { "content-type": "application/json" };
      const { path, headers: own } = request(ids);
      await sendValidated(route, { path }, { token, raw, headers: { ...own, ...headers } });
    }
    const headers = { "content-type": "text/plain" };
    await sendValidated(route, { path: request(ids).path }, { token, raw: "x", headers });
  }
});

test("every response to a lead creation, successful or not, conforms to the document", async () => {
  const createLead = routes.find(({ id }) => id === "createLead")!;
  const phone = "9876543210";
  await seed.reseed(["user_id", "contact_id", "option_id"]);
  const own = seed.ids();
  const all = {
    phone,
    name: "Zoë",
    email: "zoe@test.example",
    assignedAgentId: own.user_id,
    contactId: own.contact_id,
    statusId: own.option_id,
    customFields: { note: "text" },
  };
  const bodies: [number, unknown][] = [
    [201, { phone }],
    [201, all],
    [201, { ...all, name: null, email: null, sourceId: null, customFields: null }],
    [400, { phone, assignedAgentId: 0 }],
    [400, { phone, contactId: 0 }],
    [422, { phone: "1", email: "" }],
    [422, { phone, statusId: 0, extra: 1 }],
  ];
  const path = leadPath(account.workspace_id);
  for (const [expected, json] of bodies) {
    const status = await sendValidated(createLead, { path, json }, { token: account.token });
    assert.equal(status, expected);
  }
  const headers = { "idempotency-key": "validated" };
  for (const json of [{ phone }, { phone }, all]) {
    await sendValidated(createLead, { path, json }, { token: account.token, headers });
  }
  const foreign = await sendValidated(
    createLead,
    { path: leadPath(0), json: all },
    { token: account.token },
  );
  assert.equal(foreign, 404);
});

test("the validator finds a response that violates the document", async () => {
  const altered = structuredClone(document) as never as Altered;
  altered.components.schemas.Lead.required.push("colour");
  const directory = await mkdtemp(join(tmpdir(), "trunkline-prism-"));
  await writeFile(join(directory, "openapi.json"), JSON.stringify(altered));
  const strict = await startPrism(join(directory, "openapi.json"), api.url);
  const answer = await send(strict.url, "POST", leadPath(account.workspace_id), {
    token: account.token,
    json: { phone: "9876543210" },
  });
  await strict.stop();
  await rm(directory, { recursive: true });
  assert.equal(answer.status, 201);
  assert.match(answer.headers.get("sl-violations") ?? "", /"response".*colour/);
});

/** Sends a request through Prism; throws if the response (not the request) violates the document. */
async function sendValidated(
  { id, method }: Route,
  { path, json, form, headers: own }: RowRequest,
  options: RequestOptions,
): Promise<number> {
  const body = form ? { raw: form } : { json };
  const headers = { ...own, ...options.headers };
  const answer = await send(prism.url, method, path, { ...body, ...options, headers });
  const found = answer.headers.get("sl-violations");
  const violations = found === null ? [] : (JSON.parse(found) as { location: string[] }[]);
  const broken = violations.filter(({ location }) => location[0] === "response");
  assert.deepEqual(broken, [], `${id}: ${answer.status} ${answer.text}`);
  assert.doesNotMatch(answer.text, /stoplight\.io\/prism\/errors/, id);
  return answer.status;
}
