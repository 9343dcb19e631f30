// Regression tests of bugs that the fuzz test found.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { routes } from "../../server/api/routes.ts";
import { routeRows } from "../matrix/route-rows.ts";
import { seedIds } from "../matrix/seed-ids.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { assertProblem, leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;

before(async () => {
  lead = await startLeadApi();
});
after(() => lead.api.close());

const importPath = () => `/api/v1/crm/workspaces/${lead.account.workspace_id}/leads/import`;
const part = (disposition: string, content: string) =>
  `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}`;
const upload = (raw: string) =>
  lead.api.send("POST", importPath(), {
    token: lead.account.token,
    raw,
    headers: { "content-type": "multipart/form-data; boundary=b" },
  });

test("an upload with a truncated file is 400 and closes nothing twice", async () => {
  const columnMap = part('name="columnMap"', '{"phone":"Phone"}\r\n');
  for (const csv of ["Phone\n98765", "", "x".repeat(200_000)]) {
    const answer = await upload(columnMap + part('name="file"; filename="a.csv"', csv));
    assertProblem(answer, 400, "bad-request");
  }
});

test("a part without a name is 422, and every error names a field", async () => {
  const answer = await upload(`${part("name", "x")}\r\n--b--\r\n`);
  assertProblem(answer, 422, "validation-failed");
});

type Parameters = Readonly<Record<string, { readonly format?: string }>>;

test("every list answers a cursor beyond its rows, and every filter an ID that no row can have", async () => {
  const ids = await seedIds(lead.api, lead.account, "parameters");
  const cursors = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER].map((id) =>
    Buffer.from(String(id)).toString("base64url"),
  );
  const sent = new Set<string>();
  for (const { id, method, query } of routes) {
    const schema: { readonly properties?: Parameters } = query ?? {};
    for (const [name, { format }] of Object.entries(schema.properties ?? {})) {
      const values = name === "cursor" ? cursors : format === "int64" ? [String(2n ** 63n)] : [];
      for (const value of method === "GET" ? values : []) {
        const url = new URL(routeRows.get(id)!.request(ids).path, lead.api.url);
        url.searchParams.set(name, value);
        const { token } = lead.account;
        const answer = await lead.api.send("GET", url.pathname + url.search, { token });
        // Some cursors are more than an ID.
        assert.ok([200, 422].includes(answer.status), `${id}, ${name}: ${answer.text}`);
        sent.add(`${id} ${name}`);
      }
    }
  }
  assert.ok(sent.size > 50, `${sent.size} parameters`);
});

test("an unknown Expect header does not prevent a lead's creation", async () => {
  const body = '{"phone":"9876543210"}';
  const headers = {
    authorization: `Bearer ${lead.account.token}`,
    expect: "nonsense",
    "content-length": String(body.length),
  };
  const request = rawRequest(`POST ${leadPath(lead.account.workspace_id)}`, headers, body);
  const answer = await sendRaw(lead.api.url, [request]);
  assert.equal(answer?.status, 201, answer?.text);
});

test("an oversized number in a path or a query string is refused, not passed to the database", async () => {
  const { token, workspace_id } = lead.account;
  const get = (path: string) => lead.api.send("GET", `/api/v1/crm/${path}`, { token });
  assertProblem(await get(`workspaces/${"9".repeat(400)}`), 404, "not-found");
  for (const limit of ["1e999", "9".repeat(400), "0x10", "1.0", ""]) {
    const answer = await get(`workspaces/${workspace_id}/leads?limit=${limit}`);
    assertProblem(answer, 422, "validation-failed");
    assert.equal(answer.body.errors[0].field, "limit");
  }
  const unknown = await get(`workspaces/${workspace_id}/leads?statusId=9223372036854775807`);
  assert.equal(unknown.status, 200, unknown.text);
});

test("a time that its offset carries into the year 10000 is refused, not passed to the database", async () => {
  const late = "9999-12-31T23:59:00-01:00";
  const send = (path: string, json: unknown) =>
    lead.api.send("POST", path, { token: lead.account.token, json });
  const phone_number = "9876543210";
  for (const [path, json] of [
    ["/api/v1/suppressions", { phone_number, expires_at: late }],
    ["/api/v1/tokens", { name: "late", kind: "account", expires_at: late }],
    [
      "/api/v1/clickToCallApis/clickToCall",
      { to_number: phone_number, from_number: "101", schedulled_at: late },
    ],
  ] as const) {
    const answer = await send(path, json);
    assert.ok([400, 422].includes(answer.status), `${path}: ${answer.text}`);
    assert.match(answer.text, /before the year 10000/);
  }
});

test("contacts given as an object with its own toString are refused as not an array", async () => {
  const contacts = { toString: 1, hasOwnProperty: null, valueOf: {} };
  const answer = await lead.api.send("POST", "/api/v1/chat/campaigns", {
    token: lead.account.token,
    headers: { "idempotency-key": "fuzz" },
    json: { name: "x", chat_number_id: 1, template_id: 1, contacts },
  });
  assertProblem(answer, 422, "validation-failed");
  assert.deepEqual(answer.body.errors, [{ field: "contacts", reason: "must be an array" }]);
});
