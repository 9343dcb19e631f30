import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import Type from "typebox";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  overrunHandshake,
  stallRequest,
  type StalledRequest,
} from "../../../test/support/hostile-client.ts";
import { manualTimers, type ManualTimers } from "../../lib/timers.ts";
import { closed } from "../../lib/schemas.ts";
import { publicRoute, route } from "../route.ts";
import { routes as allRoutes } from "../routes.ts";

const megabyte = 1_048_576;

const routes = [
  publicRoute({
    method: "POST",
    url: "/hooks/test",
    id: "takeTest",
    summary: "Take a raw body",
    tag: "Test",
    success: { 200: Type.Object({ length: Type.Integer() }) },
    raw_body: true,
    body_bytes_max: 3 * megabyte,
    handle: async ({ body }) => ({ length: (body as Buffer).length }),
  }),
  route({
    method: "POST",
    url: "/large",
    id: "large",
    summary: "Takes a large body",
    tag: "Test",
    access: { anyOf: ["crm.read"] },
    body_bytes_max: 8 * megabyte,
    body: closed({ text: Type.String() }),
    success: { 200: closed({ length: Type.Integer() }) },
    handle: async ({ body }) => ({ length: body.text.length }),
  }),
  ...allRoutes,
];

let api: TestApi;
let time: ManualTimers;
/** How many bytes the server has read from a client's port. */
const bytesRead = new Map<number, () => number>();
before(async () => {
  time = manualTimers();
  api = await startApi({ routes, timers: time.timers });
  api.server.server.on("connection", (socket: Socket) =>
    bytesRead.set(socket.remotePort!, () => socket.bytesRead),
  );
});
after(() => api.close());

const statusOf = (text: string) => /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? text;
const hook = (bytes: number) =>
  api.send("POST", "/hooks/test", {
    raw: Buffer.alloc(bytes),
    headers: { "content-type": "application/json" },
  });
const authorized = (token: string) => ({ authorization: `Bearer ${token}` });

test("unfinished bodies of strangers take at most 64 MB: the oldest is 503, and a complete body is always accepted", async () => {
  const bytes = 3 * megabyte;
  const beginning = Buffer.alloc(bytes - 1);
  const stalled = Array.from({ length: 30 }, () =>
    stallRequest(api.url, "POST /hooks/test", { bytes, beginning }),
  );
  const cut = () => stalled.filter(({ isClosed }) => isClosed());
  await eventually(() => cut().length === 9);
  for (const { answer } of cut()) {
    const text = await answer;
    // A client that was still writing may find its connection reset instead.
    if (text === "") continue;
    assert.equal(statusOf(text), "503");
    assert.match(text, /\r\nretry-after: 1\r\n/);
  }
  const whole = await hook(bytes);
  assert.deepEqual([whole.status, whole.body.length], [200, bytes]);
  assert.ok(cut().length >= 9);
  for (const { socket } of stalled) socket.destroy();
});

test("more than 1,024 unfinished bodies of strangers end the oldest ones", async () => {
  const stalled = Array.from({ length: 1_030 }, () =>
    stallRequest(api.url, "POST /hooks/test", { bytes: 100, beginning: "x" }),
  );
  await eventually(() => stalled.filter(({ isClosed }) => isClosed()).length >= 6);
  assert.equal((await hook(100)).status, 200);
  for (const { socket } of stalled) socket.destroy();
});

test("more than 1,024 bodies that strangers send with a WebSocket handshake do not refuse later ones", async () => {
  const answers = await Promise.all(
    Array.from({ length: 1_030 }, () => overrunHandshake(api.url, "POST /hooks/test", "x")),
  );
  assert.equal((await hook(100)).status, 200);
  assert.deepEqual(new Set(answers.map(statusOf)), new Set(["200"]));
});

test("a webhook of a provider that is not configured, and an unknown path, are 404 before the body arrives", async () => {
  for (const path of ["/hooks/whatsapp", "/nothing/here"]) {
    const { socket, answer } = stallRequest(api.url, `POST ${path}`, {
      bytes: megabyte,
      beginning: "",
    });
    const { promise: first, resolve } = Promise.withResolvers<string>();
    socket.once("data", (chunk) => resolve(chunk.toString()));
    assert.equal(statusOf(await first), "404");
    socket.destroy();
    await answer;
  }
});

test("large bodies that have not arrived take no slot: those of two accounts do not delay a third's", async () => {
  const [one, two, other] = [
    await makeAccount(api.app),
    await makeAccount(api.app),
    await makeAccount(api.app),
  ];
  const stalled = [one, two].flatMap(({ token }) =>
    Array.from({ length: 9 }, () =>
      stallRequest(api.url, "POST /large", {
        headers: authorized(token),
        bytes: 4 * megabyte,
        beginning: `{"text":"${"x".repeat(megabyte)}`,
      }),
    ),
  );
  const whole = await api.send("POST", "/large", {
    token: other.token,
    json: { text: "x".repeat(2 * megabyte) },
  });
  assert.deepEqual([whole.status, whole.body.length], [200, 2 * megabyte]);
  assert.equal(stalled.filter(({ isClosed }) => isClosed()).length, 0);
  for (const { socket } of stalled) socket.destroy();
});

test("uploads that have not arrived take no slot: those of three accounts do not delay a fourth's", async () => {
  const stalled = [];
  for (let i = 0; i < 3; i++) {
    const { token, workspace_id } = await makeAccount(api.app);
    for (let j = 0; j < 3; j++)
      stalled.push(
        stallRequest(api.url, `POST /api/v1/crm/workspaces/${workspace_id}/leads/import`, {
          headers: { ...authorized(token), "content-type": "multipart/form-data; boundary=b" },
          bytes: 100_000,
          beginning:
            '--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nphone\r\n987',
        }),
      );
  }
  const other = await makeAccount(api.app);
  const raw = new FormData();
  raw.append("columnMap", '{"phone":"phone"}');
  raw.append("file", new Blob(["phone\n9876543210\n"]), "leads.csv");
  const path = `/api/v1/crm/workspaces/${other.workspace_id}/leads/import`;
  assert.equal((await api.send("POST", path, { token: other.token, raw })).status, 202);
  for (const { socket } of stalled) socket.destroy();
});

test("a body that arrives slower than 10 kB in 10 s is 408, also of an upload, and one that is faster is not", async () => {
  const { token, workspace_id } = await makeAccount(api.app);
  const slow = [
    ["POST /hooks/test", {}],
    [`POST /api/v1/crm/workspaces/${workspace_id}/leads/create`, authorized(token)],
    ["POST /large", authorized(token)],
    [
      `POST /api/v1/crm/workspaces/${workspace_id}/leads/import`,
      { ...authorized(token), "content-type": "multipart/form-data; boundary=b" },
    ],
  ].map(([line, headers]) =>
    stallRequest(api.url, line as string, {
      headers: headers as Record<string, string>,
      bytes: 1_000_000,
      beginning: "{",
    }),
  );
  const fast = stallRequest(api.url, "POST /hooks/test", { bytes: 60_001, beginning: "" });
  const read = ({ socket }: StalledRequest) => bytesRead.get(socket.localPort!)?.() ?? 0;
  await eventually(() => [...slow, fast].every((each) => read(each) > 0));
  for (let window = 1; window <= 4; window++) {
    fast.socket.write(Buffer.alloc(15_000));
    await eventually(() => read(fast) > window * 15_000);
    time.advance(11_000);
  }
  for (const { answer } of slow) {
    const text = await answer;
    assert.equal(statusOf(text), "408");
    assert.match(text, /too slowly/);
  }
  assert.equal(fast.isClosed(), false);
  fast.socket.write("x");
  await eventually(() => fast.socket.bytesRead > 0);
  fast.socket.destroy();
});
