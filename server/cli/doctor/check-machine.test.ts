import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { startApi } from "../../../test/support/api.ts";
import { readConfig } from "../../config.ts";
import { checkDisks, checkPort, checkSynchronization } from "./check-machine.ts";

const configOf = (env: Record<string, string> = {}) =>
  readConfig({ DATA_DIR: "/tmp/none/yet", ...env });
const on = (port: number, env: Record<string, string> = {}) =>
  configOf({ PORT: String(port), ...env });
const workerEnv = {
  ROLES: "worker",
  DATABASE_URL: "postgres://x/y",
  TRUNKLINE_SECRET_KEY: "A".repeat(43) + "=",
};

test("a port is free, the service's, or another program's", async () => {
  const other = createServer((socket) => void socket.resume().end("not HTTP"));
  other.listen({ host: "127.0.0.1", port: 0 });
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await assert.rejects(checkPort(on(port)), {
    message: `another program listens on 127.0.0.1:${port}; stop it, or change PORT`,
  });
  assert.match(await checkPort(on(port, workerEnv)), /without the role api/);
  other.close();
  await once(other, "close");
  assert.equal(await checkPort(on(port)), `127.0.0.1:${port} is free`);
  const api = await startApi();
  const api_port = Number(new URL(api.url).port);
  assert.equal(await checkPort(on(api_port)), `the service listens on 127.0.0.1:${api_port}`);
  await api.close();
});

test("an address that is not this machine's is named", async () => {
  await assert.rejects(
    checkPort(on(8_080, { HOST: "192.0.2.1" })),
    /^Error: cannot listen on 192\.0\.2\.1:8080 \(EADDRNOTAVAIL\)/,
  );
});

test("the clock is synchronized, is not, or does not say", async () => {
  assert.equal(await checkSynchronization(async () => "yes"), "the clock is synchronized");
  await assert.rejects(
    checkSynchronization(async () => "no"),
    /enable NTP/,
  );
  assert.match(await checkSynchronization(async () => null), /cannot be read/);
  assert.match(await checkSynchronization(), /synchronized/);
});

test("too little space is reported for the data folder and for spooled bodies", async () => {
  const gigabytes = (data: number, temporary: number) => async (path: string) =>
    (path === tmpdir() ? temporary : data) * 2 ** 30;
  const api = configOf();
  assert.match(await checkDisks(api, gigabytes(2, 5)), /has 2\.0 GB free, \S+ 5\.0 GB$/);
  await assert.rejects(checkDisks(api, gigabytes(0.9, 5)), /has 0\.9 GB free; free some/);
  await assert.rejects(checkDisks(api, gigabytes(2, 1)), /has 1\.0 GB free, and .* set TMPDIR/);
  assert.match(await checkDisks(configOf(workerEnv), gigabytes(2, 0)), /has 2\.0 GB free$/);
  assert.match(
    await checkDisks(configOf(workerEnv)),
    /GB free$/,
    "a folder that does not exist yet",
  );
});
