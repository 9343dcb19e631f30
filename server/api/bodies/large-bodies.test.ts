import assert from "node:assert/strict";
import { request, type ClientRequest } from "node:http";
import { after, before, test } from "node:test";
import Type from "typebox";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { closed } from "../../lib/schemas.ts";
import { route } from "../route.ts";

const megabyte = 1_048_576;

const routes = [
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
];

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi({ routes });
  account = await makeAccount(api.app);
});
after(() => api.close());

/** Announces a large body and sends only its beginning; resolves with the status, or null when cut. */
function openUpload(of: TestAccount) {
  const { promise: status, resolve } = Promise.withResolvers<number | null>();
  const headers = {
    authorization: `Bearer ${of.token}`,
    "content-type": "application/json",
    "content-length": 2 * megabyte,
  };
  const sent: ClientRequest = request(`${api.url}/large`, {
    method: "POST",
    headers,
    agent: false,
  });
  sent.on("response", (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
    sent.destroy();
  });
  sent.on("error", () => resolve(null));
  sent.write('{"text":"');
  return { status, cut: () => sent.destroy() };
}

const post = (of: TestAccount, bytes: number) =>
  api.send("POST", "/large", { token: of.token, json: { text: "x".repeat(bytes) } });

test("large bodies beyond an account's share wait, then are 503, and other accounts are not affected", async () => {
  const other = await makeAccount(api.app);
  const uploads = Array.from({ length: 12 }, () => openUpload(account));
  const answered: (number | null)[] = [];
  for (const { status } of uploads) void status.then((one) => answered.push(one));
  await eventually(() => answered.length === 3);
  assert.equal((await post(other, 2 * megabyte)).body.length, 2 * megabyte);
  assert.equal((await post(account, 1_000)).body.length, 1_000, "a small body waits for none");
  assert.deepEqual(answered, [503, 503, 503]);
  // A closed connection releases its slot.
  for (const { cut } of uploads) cut();
  await Promise.all(uploads.map(({ status }) => status));
  await eventually(async () => (await post(account, 2 * megabyte)).status === 200);
});

test("releases a slot with every answer", async () => {
  for (let i = 0; i < 10; i++) assert.equal((await post(account, 2 * megabyte)).status, 200);
});
