// Downloads of recordings from a stub of an Asterisk, which counts its connections.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, test } from "node:test";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failed, makeCall } from "../../../test/support/call-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { openAsteriskDriver } from "../../drivers/voice/asterisk/open-asterisk-driver.ts";
import { encodeWav } from "../../lib/audio/wav.ts";
import { openLog } from "../../lib/log.ts";

type Place = { readonly node_id: number; readonly trunk_id: number };

let connections = 0;
let respond: (response: ServerResponse) => void;
const stub = createServer((_, response) => respond(response));
stub.on("connection", (socket) => {
  connections++;
  socket.once("close", () => connections--);
});
const driver = openAsteriskDriver(openLog("silent", { readable: false }), {
  request_timeout_ms: 120_000,
});
let api: TestApi;
let place: Place;
const open: Response[] = [];

before(async () => {
  stub.listen(0, "127.0.0.1");
  await once(stub, "listening");
  const { port } = stub.address() as AddressInfo;
  api = await startApi({ voiceDrivers: { asterisk: driver } });
  const node_id = await makeNode(api.app, {
    driver: "asterisk",
    ari_url: `http://127.0.0.1:${port}/ari`,
  });
  place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
});
afterEach(async () => {
  await cancelAll();
  await eventually(() => connections === 0);
});
after(async () => {
  await api.close();
  stub.close();
});

async function cancelAll(): Promise<void> {
  for (const answer of open.splice(0)) await answer.body?.cancel();
}

/** An account with a recorded call: each download is answered, and is not read. */
async function makeListener({ app, url }: TestApi = api) {
  const account = await makeAccount(app);
  const call = { ...failed, recording_state: "ready" };
  const { id } = await makeCall(app, account, { call, place });
  return {
    ...account,
    async download(method = "GET") {
      const answer = await fetch(`${url}/api/v1/calls/${id}/recording`, {
        method,
        headers: { authorization: `Bearer ${account.token}` },
      });
      open.push(answer);
      return answer;
    },
  };
}

async function statusesOf(answers: readonly Promise<Response>[]): Promise<Record<string, number>> {
  const statuses = (await Promise.all(answers)).map(({ status }) => String(status));
  const counts = Map.groupBy(statuses, (status) => status);
  return Object.fromEntries([...counts].map(([status, all]) => [status, all.length]));
}

test("an account has at most 16 open downloads of recordings and a process 64, so that a switch has connections for its calls", async () => {
  // A recording that never ends.
  respond = (response) => response.write(encodeWav(Buffer.alloc(1_600)));
  const listeners = [];
  for (let i = 0; i < 5; i++) listeners.push(await makeListener());
  const [first, ...others] = listeners;
  const last = others.pop()!;
  const many = Array.from({ length: 20 }, () => first!.download());
  assert.deepEqual(await statusesOf(many), { 200: 16, 429: 4 });
  const refused = (await Promise.all(many)).find(({ status }) => status === 429)!;
  assert.equal(refused.headers.get("retry-after"), "5");
  const { rows } = await api.app.db.pool.query<{ entries: number }>(
    `select count(*)::int as entries from audit_entries where account_id = $1 and action = 'call.listened'`,
    [first!.account_id],
  );
  assert.deepEqual(rows, [{ entries: 16 }]);
  for (const { download } of others)
    assert.deepEqual(await statusesOf(Array.from({ length: 16 }, () => download())), { 200: 16 });
  assert.deepEqual([await statusesOf([last.download()]), connections], [{ 503: 1 }, 64]);
  await open[0]!.body!.cancel();
  await eventually(async () => (await last.download()).status === 200);
  assert.equal(connections, 64);
});

test("a HEAD of a recording gets its length from its first bytes, and ends the connection to the switch", async () => {
  // A recording that never ends.
  respond = (response) => response.write(encodeWav(Buffer.alloc(1_600)));
  const { download } = await makeListener();
  const { status, headers } = await download("HEAD");
  assert.deepEqual([status, headers.get("content-length")], [200, "1644"]);
  await eventually(() => connections === 0);
});

test("a download whose client stops reading closes its connection to the switch", async () => {
  // More than the socket buffers on the way.
  respond = (response) => response.end(encodeWav(Buffer.alloc(64 * 1_048_576)));
  const impatient = await startApi({
    databaseUrl: api.database_url,
    voiceDrivers: { asterisk: driver },
    limits: { stalled_response_ms: 500 },
  });
  try {
    const { download } = await makeListener(impatient);
    const answer = await download();
    assert.deepEqual([answer.status, connections], [200, 1]);
    await eventually(() => connections === 0, 30);
    await assert.rejects(open.pop()!.arrayBuffer());
  } finally {
    await cancelAll();
    await impatient.close();
  }
});
