import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Value from "typebox/value";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { nameComponents } from "./name-components.ts";
import { routes } from "./routes.ts";

type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};
type Content = { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> };
type Operation = {
  readonly operationId: string;
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
};

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

test("every JSON body, and every object of a body or an answer with more than three fields, has a name", async () => {
  const { paths, components } = (await api.send("GET", "/openapi.json")).body;
  const unnamed: string[] = [];
  const visit = (schema: Schema, at: string, isNamed = false) => {
    if (!isNamed && Object.keys(schema.properties ?? {}).length > 3) unnamed.push(at);
    for (const [key, of] of Object.entries(schema.properties ?? {})) visit(of, `${at}.${key}`);
    const { items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
    for (const part of [items, additionalProperties, ...anyOf, ...oneOf, ...allOf])
      if (typeof part === "object") visit(part, `${at}[]`);
  };
  const operations = Object.values(paths as Record<string, Record<string, Operation>>);
  for (const { operationId, requestBody, responses } of operations.flatMap(Object.values)) {
    const body = requestBody?.content ?? {};
    if (body["application/json"] && !body["application/json"].schema.$ref)
      unnamed.push(`${operationId} body`);
    for (const { content = {} } of [{ content: body }, ...Object.values(responses)] as Content[])
      for (const { schema } of Object.values(content)) visit(schema, operationId);
  }
  const named = Object.entries(components.schemas as Record<string, Schema>);
  // An event is the body of a request that the service itself sends.
  for (const [name, schema] of named) if (!name.endsWith("Event")) visit(schema, name, true);
  assert.deepEqual(unnamed, []);
});

test("names of schemas are PascalCase, and no two of them stand for the same schema", async () => {
  const { schemas } = (await api.send("GET", "/openapi.json")).body.components;
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    assert.match(name, /^(?:[A-Z][a-z]+)+$/);
    const other = names.get(JSON.stringify(schema));
    assert.equal(other, undefined, `${name} is the same as ${other}`);
    names.set(JSON.stringify(schema), name);
  }
  assert.ok(names.size > 200);
});

test("every reference in the document leads to a component", async () => {
  const { text, body } = await api.send("GET", "/openapi.json");
  const references = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)];
  assert.equal(references.length, text.split('"$ref"').length - 1);
  for (const [reference, kind, name] of references)
    assert.ok(body.components[kind!][name!], reference);
  const errors = Object.values(body.paths as Record<string, Record<string, Operation>>).flatMap(
    (operations) => Object.values(operations).map(({ responses }) => responses["4XX"]),
  );
  // Only click-to-call has errors of its own.
  assert.equal(errors.filter((error) => !error?.$ref).length, 1);
});

test("two different schemas cannot have the same name", () => {
  const schemaOf = (name: Schema) => ({
    type: "object",
    title: "Person",
    properties: { name },
  });
  const documentOf = (other: object) => ({
    paths: {},
    webhooks: { first: schemaOf({ type: "string" }), second: other },
    components: { schemas: {} },
  });
  const none = { headers: {}, responses: {} };
  const described = { ...schemaOf({ type: "string" }), type: ["object", "null"], description: "A" };
  assert.deepEqual(nameComponents(documentOf(described), none).webhooks, {
    first: { $ref: "#/components/schemas/Person" },
    second: {
      description: "A",
      anyOf: [{ $ref: "#/components/schemas/Person" }, { type: "null" }],
    },
  });
  assert.throws(
    () => nameComponents(documentOf(schemaOf({ type: "integer" })), none),
    /two schemas with different shapes have the title Person/,
  );
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
