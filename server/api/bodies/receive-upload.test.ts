import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { stallRequest } from "../../../test/support/hostile-client.ts";
import {
  makeAccount,
  makeAgentToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { revokeWhileCsvWaits } from "../../../test/support/revoke-while-csv-waits.ts";
import { tone } from "../../../test/support/tones.ts";
import { encodeWav } from "../../lib/audio/wav.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { manualTimers } from "../../lib/timers.ts";

let api: TestApi;
before(async () => {
  // No body is too slow.
  api = await startApi({ timers: manualTimers().timers });
});
after(() => api.close());

const path = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}/leads/import`;

function uploadLeads(of: TestAccount) {
  const raw = new FormData();
  raw.append("columnMap", '{"phone":"phone"}');
  raw.append("file", new Blob(["phone\n9876543210\n"]), "leads.csv");
  return api.send("POST", path(of), { token: of.token, raw });
}

const upload = async (of: TestAccount) => (await uploadLeads(of)).status;

function uploadPeople(to: string, token: string) {
  const raw = new FormData();
  raw.append("file", new Blob(["phone_number\n9876543210\n"]), "people.csv");
  return api.send("POST", to, { token, raw });
}

const importSuppressions = async ({ token }: TestAccount) =>
  (await uploadPeople("/api/v1/suppressions/import", token)).status;

const half =
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nphone\r\n987';
const other_half = "6543210\r\n--b--\r\n";

/** An upload that stalls in the middle of its file. */
const halfUpload = (of: TestAccount) =>
  stallRequest(api.url, `POST ${path(of)}`, {
    headers: {
      authorization: `Bearer ${of.token}`,
      "content-type": "multipart/form-data; boundary=b",
    },
    bytes: half.length + other_half.length,
    beginning: half,
  });

test("three uploads of one account arrive at once, 16 wait, the next are 503, and other accounts are not affected", async () => {
  const slow = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const stalled = Array.from({ length: 20 }, () => halfUpload(slow));
  try {
    const received = await Promise.race(stalled.map(({ socket }) => once(socket, "data")));
    assert.match(String(received), /^HTTP\/1\.1 503 /);
    assert.equal(await upload(slow), 503);
    assert.equal(await upload(other), 202);
  } finally {
    for (const { socket } of stalled) socket.destroy();
  }
  // Those that waited are gone, too.
  await eventually(async () => (await upload(slow)) === 202);
});

test("a file whose token was revoked while it waited for its account's others is 401, and changes nothing", async (t) => {
  const of = await makeAccount(api.app);
  const { token: admin } = of;
  const json = { name: "Late" };
  const group = (await api.send("POST", "/api/v1/groups", { token: admin, json })).body;
  const permissions = ["groups.manage", "suppressions.manage", "crm.import"] as const;
  const token = await makeAgentToken(api.app, of, permissions);
  const members = `/api/v1/groups/${group.id}/members`;
  const answers = await revokeWhileCsvWaits(t, api, of, token, () => [
    uploadPeople(`${members}/import`, token),
    uploadPeople("/api/v1/suppressions/import", token),
    uploadLeads({ ...of, token }),
  ]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 401, 401],
  );
  const imports = `${path(of)}s`;
  for (const list of [members, "/api/v1/suppressions", imports])
    assert.deepEqual((await api.send("GET", list, { token: admin })).body.data, [], list);
});

test("an upload that arrived while it waited takes no place of its account once its client is gone", async () => {
  const of = await makeAccount(api.app);
  const stalled = Array.from({ length: 20 }, () => halfUpload(of));
  await Promise.race(stalled.map(({ socket }) => once(socket, "data")));
  for (const { socket } of stalled) socket.write(other_half, () => socket.destroy());
  await Promise.all(stalled.map(({ answer }) => answer));
  await eventually(async () => (await upload(of)) === 202);
});

test("CSV files that wait to be parsed delay no upload of another kind: those of three accounts do not delay a fourth's voice file", async (t) => {
  const accounts = await Promise.all(Array.from({ length: 3 }, () => makeAccount(api.app)));
  const other = await makeAccount(api.app);
  const parsing = t.mock.method(csvParsing, "use");
  const { promise: first, resolve: end } = Promise.withResolvers<void>();
  const running = accounts.map(({ account_id }) => csvParsing.use(account_id, () => first));
  const files = accounts.flatMap((of) => [upload(of), upload(of), importSuppressions(of)]);
  try {
    // With a limit on processed uploads, the ninth does not begin.
    await eventually(() => parsing.mock.callCount() >= running.length + 8);
    const raw = new FormData();
    raw.append("name", "Welcome");
    raw.append("file", new Blob([new Uint8Array(encodeWav(tone(500)))]), "voice.wav");
    const voice = api.send("POST", "/api/v1/voice/files", { token: other.token, raw });
    let status = 0;
    void voice.then((answer) => (status = answer.status));
    await eventually(() => status !== 0, 30);
    assert.equal(status, 201);
    await eventually(() => parsing.mock.callCount() === running.length + files.length);
  } finally {
    end();
    await Promise.all(running);
  }
  assert.deepEqual(
    await Promise.all(files),
    accounts.flatMap(() => [202, 202, 200]),
  );
});

test("a body that goes on after its last part does not delay the next request of its connection", async () => {
  const of = await makeAccount(api.app);
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
  // With this boundary, the parser takes the first line for the end.
  const body = `----\r\n${"-".repeat(500_000)}`;
  socket.write(
    `POST ${path(of)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${of.token}\r\n` +
      `content-type: multipart/form-data; boundary="\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await eventually(() => received.startsWith("HTTP/1.1 422"));
  socket.write("GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await eventually(() => received.includes("HTTP/1.1 200"));
  socket.destroy();
});
