// Routes that parse their bodies, are repeatable by a fingerprint of their own, and write with COPY in the
// transaction that stores their answer.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { text as textOf } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { after, before, test } from "node:test";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import Type from "typebox";
import { startApi, type Answer, type TestApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  makeAccount,
  makeToken,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { Refusal } from "../lib/errors.ts";
import { parseJsonBody } from "../lib/json-body.ts";
import { closed } from "../lib/schemas.ts";
import { shapeChecker } from "./checks/check-shape.ts";
import { parseUpload } from "./bodies/parse-upload.ts";
import { route, type RequestContext } from "./route.ts";
import { tokenRoutes } from "./routes/accounts/tokens.ts";

const Rows = closed({
  name: Type.String(),
  rows: Type.Integer(),
  fails: Type.Optional(Type.Boolean()),
});
const Stored = Type.Object({ stored: Type.Integer(), run: Type.Integer() });
const access = { anyOf: ["crm.read"] } as const;

const checkRows = shapeChecker(Rows);

let runs = 0;
/** Effects named "held" wait here until the test releases them. */
let held = Promise.withResolvers<void>();
let holding = 0;
/** How many long writes were asked for. */
let asked = 0;
/** How many requests asked for the last item, and that it is taken. */
let takers = 0;
const taken = Promise.withResolvers<void>();

/** Copies rows into a table with few constraints. */
async function storeRows(
  context: Pick<RequestContext<never, never, never>, "caller" | "writeWithClient">,
  { name, rows, fails = false }: { name: string; rows: number; fails?: boolean },
) {
  const { id } = context.caller.account;
  asked++;
  return context.writeWithClient(30, async (tx, client) => {
    if (name === "held") {
      holding++;
      await held.promise;
    }
    const lines = Array.from({ length: rows }, (_, i) => `${id}\t${name}-${i}\t2026-01-01\t0\n`);
    await copyIn(client, lines.join(""));
    const { stored } = await tx
      .selectFrom("rate_windows")
      .select((of) => of.fn.countAll<number>().as("stored"))
      .where("account_id", "=", id)
      .where("endpoint", "like", `${name}-%`)
      .executeTakeFirstOrThrow();
    if (fails) throw new Refusal("conflict", "requested by the test");
    return { stored, run: ++runs };
  });
}

async function copyIn(client: pg.PoolClient, lines: string): Promise<void> {
  const stream = client.query(copyFrom("copy rate_windows from stdin"));
  stream.end(lines);
  await finished(stream);
}

const routes = [
  route({
    method: "POST",
    url: "/rows",
    id: "storeRows",
    summary: "Store rows of a parsed body",
    tag: "Test",
    access,
    raw_body: true,
    key_required: true,
    malformed_type: "bad-request",
    parse: async ({ request }) => {
      const body = checkRows(parseJsonBody(request.body as Buffer));
      return { body, fingerprint: body.body };
    },
    body: Rows,
    success: { 201: Stored },
    validate: ({ body }) => body.violations,
    handle: (context) => storeRows(context, context.body.body),
  }),
  route({
    method: "POST",
    url: "/rows/unkeyed",
    id: "storeRowsUnkeyed",
    summary: "Store rows, with or without a key",
    tag: "Test",
    access,
    body: Rows,
    success: { 201: Stored },
    handle: (context) => storeRows(context, context.body),
  }),
  route({
    method: "POST",
    url: "/rows/sync",
    id: "syncRows",
    takes_no_key: true,
    summary: "Store nothing, whatever the key",
    tag: "Test",
    access,
    body: Rows,
    success: { 200: closed({}) },
    handle: async () => ({}),
  }),
  route({
    method: "POST",
    url: "/short",
    id: "writeShort",
    summary: "Write nothing",
    tag: "Test",
    access,
    body: closed({}),
    success: { 200: closed({}) },
    handle: ({ write }) => write(async () => ({})),
  }),
  route({
    method: "POST",
    url: "/last",
    id: "takeLast",
    summary: "Take the last item",
    tag: "Test",
    access,
    body: closed({}),
    success: { 201: Type.Object({ taken: Type.Literal(true) }) },
    // The second request decides once the first is done.
    handle: async ({ write }) => {
      if (++takers === 1) {
        await taken.promise;
        throw new Refusal("insufficient-credit", "It is already taken");
      }
      return write(async () => ({ taken: true as const }));
    },
  }),
  route({
    method: "POST",
    url: "/rows/csv",
    id: "storeRowsOfFile",
    summary: "Store a row for each line of a file",
    tag: "Test",
    access,
    multipart: true,
    key_required: true,
    body: closed({ name: Type.String(), file: Type.String() }),
    success: { 201: Stored },
    parse: (context) => {
      const parts = { file: "file", fields: ["name"] };
      return parseUpload(context, parts, ({ fields, file }) => ({
        name: fields.get("name")!,
        fd: file!.fd,
      }));
    },
    handle: async (context) => {
      const { name, fd } = context.body;
      const lines = await textOf(createReadStream("", { fd, start: 0, autoClose: false }));
      return storeRows(context, { name, rows: lines.split("\n").length });
    },
  }),
];

let api: TestApi;
let otherServer: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi({ routes: [...routes, ...tokenRoutes] });
  otherServer = await startApi({ routes, databaseUrl: api.database_url });
  account = await makeAccount(api.app);
});
after(async () => {
  await otherServer.close();
  await api.close();
});

type Sent = { key?: string; of?: TestAccount; at?: TestApi; path?: string };

const post = (raw: string, { key, of = account, at = api, path = "/rows" }: Sent = {}) =>
  at.send("POST", path, {
    token: of.token,
    raw,
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
  });

const upload = (name: string, lines: string, key?: string) => {
  const raw = new FormData();
  raw.append("file", new Blob([lines]), "rows.csv");
  raw.append("name", name);
  const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
  return api.send("POST", "/rows/csv", { token: account.token, raw, headers });
};

async function storedUnder(name: string, of = account): Promise<number> {
  const { rows } = await api.app.db.pool.query<{ n: number }>(
    "select count(*)::int n from rate_windows where account_id = $1 and endpoint like $2 || '-%'",
    [of.account_id, name],
  );
  return rows[0]!.n;
}

function assertReplayOf(first: Answer, again: Answer): void {
  assert.equal(first.status, 201, first.text);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  assert.equal(again.status, 201);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
}

test("a parsed body is compared by its fingerprint: formatted differently it is a replay, with no second COPY", async () => {
  const name = unique("rows");
  const first = await post(`{"name":"${name}","rows":3}`, { key: name });
  const again = await post(`{ "rows": 3,\n"name": "${name}" }`, { key: name });
  assertReplayOf(first, again);
  assert.equal(first.body.stored, 3);
  assert.equal(await storedUnder(name), 3);
  const other = await post(`{"name":"${name}","rows":4}`, { key: name });
  assert.equal(other.status, 422);
  assert.equal(other.body.errors[0].field, "Idempotency-Key");
  assert.equal(await storedUnder(name), 3);
});

test("a key that is required and missing, empty or blank is 400 bad-request: after a malformed body, before a violation of the schema", async () => {
  const name = unique("rows");
  const good = `{"name":"${name}","rows":1}`;
  for (const [raw, key, detail] of [
    [good, undefined, /Idempotency-Key header is missing/],
    [good, "", /Idempotency-Key must/],
    [good, "  ", /Idempotency-Key must/],
    ['{"name":"x"}', undefined, /Idempotency-Key header is missing/],
    ['{"name":"\\u0000","rows":1}', undefined, /Idempotency-Key header is missing/],
    ["{broken", undefined, /could not be parsed/],
    ["", undefined, /could not be parsed/],
    ["{broken", "key", /could not be parsed/],
  ] as const) {
    const { status, body } = await post(raw, key === undefined ? {} : { key });
    assert.deepEqual([status, body.type], [400, "bad-request"], raw);
    assert.match(body.detail, detail);
  }
  assert.equal(await storedUnder(name), 0);
});

test("a body that parse refuses and one that validate finds invalid are 422 that name the field", async () => {
  const unstorable = await post('{"name":"\\u0000","rows":1}', { key: unique("key") });
  assert.equal(unstorable.status, 422);
  assert.deepEqual(unstorable.body.errors, [{ field: "name", reason: "contains a NUL character" }]);
  const shape = await post('{"name":"x"}', { key: unique("key") });
  assert.equal(shape.status, 422);
  assert.deepEqual(shape.body.errors, [{ field: "rows", reason: "is required" }]);
});

test("a failed write rolls back its COPY and its key", async () => {
  const name = unique("rows");
  const failed = await post(`{"name":"${name}","rows":5,"fails":true}`, { key: name });
  assert.equal(failed.status, 409);
  assert.equal(await storedUnder(name), 0);
  const right = await post(`{"name":"${name}","rows":2}`, { key: name });
  assert.deepEqual([right.status, right.body.stored], [201, 2]);
});

test("concurrent long writes under one key on two servers store their rows once and get one answer", async () => {
  const name = unique("rows");
  const raw = `{"name":"${name}","rows":50}`;
  const answers = await Promise.all(
    [api, otherServer, api, otherServer].map((at) => post(raw, { key: name, at })),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.equal(await storedUnder(name), 50);
});

test("a retry that would be refused for what the first request used up gets the first answer", async () => {
  const { token } = await makeAccount(api.app);
  const ask = (key: string) =>
    api.send("POST", "/last", { token, json: {}, headers: { "idempotency-key": key } });
  const slow = ask("one");
  await eventually(() => takers === 1);
  const first = await ask("one");
  taken.resolve();
  const second = await slow;
  assert.equal(first.status, 201, first.text);
  assert.equal(second.status, 201, second.text);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("idempotency-replayed"), "true");
});

test("a long write needs no key where none is required", async () => {
  const name = unique("rows");
  const path = "/rows/unkeyed";
  const first = await post(`{"name":"${name}","rows":2}`, { path });
  assert.deepEqual([first.status, first.body.stored], [201, 2]);
  const keyed = `{"name":"${name}-keyed","rows":2}`;
  assertReplayOf(await post(keyed, { path, key: name }), await post(keyed, { path, key: name }));
});

test("a repeated upload gets the stored answer, and another upload under its key is 422", async () => {
  const name = unique("file");
  assertReplayOf(await upload(name, "a\nb", name), await upload(name, "a\nb", name));
  assert.equal(await storedUnder(name), 2);
  const other = await upload(name, "a\nb\nc", name);
  assert.equal(other.status, 422);
  assert.equal(other.body.errors[0].field, "Idempotency-Key");
  for (const key of [undefined, "", " "]) {
    const { status, body } = await upload(name, "a", key);
    assert.deepEqual([status, body.type], [400, "bad-request"]);
  }
  assert.equal(await storedUnder(name), 2);
});

test("concurrent uploads under one key store their rows once", async () => {
  const name = unique("file");
  const answers = await Promise.all([1, 2, 3].map(() => upload(name, "a\nb\nc", name)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201],
  );
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.equal(await storedUnder(name), 3);
});

test("two long writes run at once, one of an account, six wait, and the next are 503; short writes are not affected", async () => {
  held = Promise.withResolvers();
  holding = 0;
  const accounts: TestAccount[] = [];
  for (let i = 0; i < 9; i++) accounts.push(await makeAccount(api.app));
  const [greedy] = accounts as [TestAccount];
  let open = 0;
  const hold = (of: TestAccount) => {
    open++;
    const answer = post('{"name":"held","rows":1}', { of, key: unique("key") });
    return answer.finally(() => open--);
  };
  const ofGreedy = [1, 2, 3, 4].map(() => hold(greedy));
  try {
    await eventually(() => open === 3);
    assert.equal(holding, 1);
    const others = accounts.slice(1).map(hold);
    ofGreedy.push(...others);
    await eventually(() => open === 10 && holding === 2);
    for (const key of [undefined, "short"]) {
      const short = await post("{}", { path: "/short", of: greedy, ...(key ? { key } : {}) });
      assert.equal(short.status, 200);
    }
  } finally {
    held.resolve();
  }
  const answers = await Promise.all(ofGreedy);
  const refused = answers.filter(({ status }) => status === 503);
  assert.equal(refused.length, 2);
  assert.ok(refused.every(({ headers }) => headers.get("retry-after") === "1"));
  assert.equal(answers.filter(({ status }) => status === 201).length, 8);
});

test("a long write whose token was revoked while it waited is 401 and stores nothing", async () => {
  held = Promise.withResolvers();
  holding = 0;
  const of = await makeAccount(api.app);
  const token = await makeToken(api.app, of, { scopes: ["crm.read"] });
  const earlier = asked;
  const running = post('{"name":"held","rows":1}', { of, key: unique("key") });
  await eventually(() => holding === 1);
  const name = unique("rows");
  const late = post(`{"name":"${name}","rows":1}`, { of: { ...of, token }, key: unique("key") });
  try {
    await eventually(() => asked === earlier + 2);
    const revoke = `/api/v1/tokens/${token.split("_")[2]}/revoke`;
    assert.equal((await api.send("POST", revoke, { token: of.token })).status, 200);
    await eventually(async () => (await post("{}", { of: { ...of, token } })).status === 401);
  } finally {
    held.resolve();
  }
  assert.equal((await running).status, 201);
  assert.equal((await late).status, 401);
  assert.equal(await storedUnder(name), 0);
});

type Paths = Record<string, { post: { parameters: [{ name: string; required?: boolean }] } }>;

test("the document says that a required key is required", async () => {
  const { paths } = api.server.swagger() as unknown as { paths: Paths };
  for (const [path, required] of [
    ["/rows", true],
    ["/rows/csv", true],
    ["/rows/unkeyed", false],
  ] as const) {
    const [header] = paths[path]!.post.parameters;
    assert.deepEqual([header.name, header.required ?? false], ["idempotency-key", required], path);
  }
});

test("the document names no key for a write that takes none", async () => {
  const { paths } = api.server.swagger() as unknown as { paths: Paths };
  assert.equal(paths["/rows/sync"]!.post.parameters, undefined);
});
