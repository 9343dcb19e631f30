import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { rawRequest, sendRaw } from "../../test/support/raw-http.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("a path that escapes the docs page's files is 404 like any unknown path", async () => {
  const climbing = ["..", "../../../package.json", "%2e%2e/x", "..%2f..%2fx", "a%00b", "x\\..\\y"];
  for (const path of climbing) {
    const answer = await sendRaw(api.url, [rawRequest(`GET /docs/static/${path}`)]);
    assert.equal(answer?.status, 404, path);
    assert.match(answer.text, /"type":"not-found"/);
  }
});

test("the docs page runs only its own scripts and cannot be framed", async () => {
  for (const path of ["/docs", "/docs/", "/docs/static/swagger-ui-bundle.js"]) {
    const { status, headers } = await api.send("GET", path);
    assert.equal(status, 200);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /script-src|unsafe-eval|\*/);
  }
});
