// What later parts stand on: a route may take the bytes of its body as they came, and may replace
// the error shape altogether.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import Type from "typebox";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../test/support/account-factory.ts";
import { refusals } from "../lib/errors.ts";
import { closed } from "../lib/schemas.ts";
import type { RenderError } from "./checks/render-error.ts";
import { publicRoute, route } from "./route.ts";

const plain: RenderError = (refusal) => ({
  status: refusals[refusal.type].status,
  contentType: "application/json; charset=utf-8",
  body: { status: refusals[refusal.type].status, message: refusal.message },
});

const routes = [
  publicRoute({
    method: "POST",
    url: "/hooks/sum",
    id: "sum",
    summary: "Return the hash of the raw body",
    tag: "Test",
    success: { 200: Type.Object({ sha256: Type.String() }) },
    raw_body: true,
    handle: async ({ body }) => ({
      sha256: createHash("sha256")
        .update(body as Buffer)
        .digest("hex"),
    }),
  }),
  route({
    method: "POST",
    url: "/plain",
    id: "plain",
    summary: "Render errors in its own shape",
    tag: "Test",
    access: { features: ["calls"], anyOf: ["crm.read"] },
    body: closed({ n: Type.Integer(), text: Type.String() }),
    success: { 200: Type.Object({ n: Type.Integer() }) },
    renderError: plain,
    handle: async ({ body }) => {
      if (body.n === 0) throw new Error("internal detail");
      return { n: body.n };
    },
  }),
];

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi({ routes });
  account = await makeAccount(api.app);
});
after(() => api.close());

test("a raw-body route gets the exact bytes that were sent, JSON or not", async () => {
  for (const text of ['{"a": "\\u00e9"}', "{ broken", "", '{"a":1e999}']) {
    const { status, body } = await api.send("POST", "/hooks/sum", {
      raw: text,
      headers: { "content-type": "application/json" },
    });
    assert.equal(status, 200);
    assert.equal(
      (body as { sha256: string }).sha256,
      createHash("sha256").update(text).digest("hex"),
    );
  }
});

test("a route's own error renderer renders every error of the route: 400, 401, 403, 405, 413, 415, 422 and 500", async () => {
  const crmOnly = await makeAccount(api.app, { features: ["crm"] });
  const { token } = account;
  const json = { n: 1, text: "x" };
  const cases = [
    [
      400,
      await api.send("POST", "/plain", {
        token,
        raw: "{",
        headers: { "content-type": "application/json" },
      }),
    ],
    [401, await api.send("POST", "/plain", { json })],
    [403, await api.send("POST", "/plain", { token: crmOnly.token, json })],
    [405, await api.send("PUT", "/plain", { token, json })],
    [413, await api.send("POST", "/plain", { token, json: { n: 1, text: "x".repeat(2 ** 20) } })],
    [
      415,
      await api.send("POST", "/plain", {
        token,
        raw: "a",
        headers: { "content-type": "text/csv" },
      }),
    ],
    [422, await api.send("POST", "/plain", { token, json: { n: "1" } })],
    [500, await api.send("POST", "/plain", { token, json: { n: 0, text: "x" } })],
  ] as const;
  for (const [expected, { status, body, headers }] of cases) {
    assert.equal(status, expected);
    assert.deepEqual(Object.keys(body as object), ["status", "message"], String(expected));
    assert.equal((body as { status: number }).status, expected);
    assert.doesNotMatch((body as { message: string }).message, /internal detail/);
    assert.ok(headers.get("x-request-id"));
  }
});
