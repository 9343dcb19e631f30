import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const path = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}/leads/import`;

async function upload(of: TestAccount): Promise<number> {
  const raw = new FormData();
  raw.append("columnMap", '{"phone":"phone"}');
  raw.append("file", new Blob(["phone\n9876543210\n"]), "leads.csv");
  return (await api.send("POST", path(of), { token: of.token, raw })).status;
}

/** An upload that stalls in the middle of its file. */
function halfUpload(of: TestAccount): Socket {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(
    `POST ${path(of)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${of.token}\r\n` +
      "content-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n" +
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nphone\r\n987',
  );
  return socket;
}

test("more than three unfinished uploads of one account are 503, and other accounts are not affected", async () => {
  const slow = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const sockets = Array.from({ length: 20 }, () => halfUpload(slow));
  try {
    await eventually(async () => (await upload(slow)) === 503);
    assert.equal(await upload(other), 202);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  await eventually(async () => (await upload(slow)) === 202);
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
