import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Value from "typebox/value";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { routes } from "./routes.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("every route has a tag that the document describes, and every tag has routes", async () => {
  const { body } = await api.send("GET", "/openapi.json");
  const listed = body.tags.map(({ name }: { name: string }) => name);
  const used = routes.map(({ tag }) => tag);
  assert.deepEqual(listed.toSorted(), [...new Set(used)].toSorted());
  for (const { name, description } of body.tags) assert.ok(description, name);
});

test("operation ids are unique and begin with a standard verb", () => {
  const ids = routes.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
  const verbs =
    /^(?:list|read|create|update|delete|add|remove|import|export|revoke|rotate|sync|upload|lift|preview|pause|resume|cancel|replay|request|resend|send|stream|subscribe|take|hangUp|transfer|retry|click|move|route|assign|unassign)[A-Z]/;
  assert.deepEqual(
    ids.filter((id) => !verbs.test(id)),
    [],
  );
});

test("every JSON body has an example that is valid under its schema", () => {
  const bodies = routes.flatMap(({ id, body, multipart }) =>
    body && !multipart ? [{ id, body }] : [],
  );
  assert.ok(bodies.length > 10);
  for (const { id, body } of bodies) {
    const { examples } = body as { examples?: unknown[] };
    assert.equal(examples?.length, 1, id);
    assert.equal(Value.Check(body, examples[0]), true, id);
  }
});

test("serves every file of the docs page under its own policy, with a mobile viewport", async () => {
  const page = await api.send("GET", "/docs/");
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'self';/);
  const parts = [...page.text.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map(([, path]) => path);
  assert.ok(parts.length >= 5);
  for (const part of parts) assert.equal((await api.send("GET", `/docs${part}`)).status, 200, part);
  assert.match((await api.send("GET", "/docs/static/theme/page.js")).text, /width=device-width/);
});

test("the document and the docs page are generated once, compressed as the client accepts, and 304 if unchanged", async (t) => {
  const generate = t.mock.method(api.server, "swagger");
  const get = (path: string, headers: Record<string, string>) => api.send("GET", path, { headers });
  for (const path of ["/openapi.json", "/docs/json", "/docs/static/swagger-ui-bundle.js"]) {
    const identity = await get(path, { "accept-encoding": "identity" });
    assert.equal(identity.headers.get("content-encoding"), null);
    const tags = new Set([identity.headers.get("etag")]);
    for (const [accepted, encoding] of [
      ["br, gzip", "br"],
      ["gzip, deflate, br;q=0", "gzip"],
      ["GZIP;q=0.5", "gzip"],
    ] as const) {
      const answer = await get(path, { "accept-encoding": accepted });
      assert.equal(answer.headers.get("content-encoding"), encoding, accepted);
      assert.equal(answer.headers.get("vary"), "accept-encoding");
      assert.equal(answer.text, identity.text);
      assert.ok(Number(answer.headers.get("content-length")) < identity.text.length / 2);
      const tag = answer.headers.get("etag")!;
      tags.add(tag);
      const again = await get(path, { "accept-encoding": accepted, "if-none-match": tag });
      assert.deepEqual([again.status, again.text, again.headers.get("etag")], [304, "", tag]);
    }
    assert.equal(tags.size, 3, "two encodings have the same tag");
  }
  assert.ok(generate.mock.callCount() <= 1, "generated again");
});
