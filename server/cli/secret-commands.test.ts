import assert from "node:assert/strict";
import { chmodSync, chownSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { scratchFolder } from "../../test/support/scratch-folder.ts";
import { keyReader, newSecretKey } from "../lib/secrets/secret-keys.ts";
import { openSecrets } from "../lib/secrets/secrets.ts";
import { runCommandLine } from "./run-command-line.ts";

const folder = scratchFolder("trunkline-keys-");
/** The key files of two machines: the service runs on one, the command line on the other. */
const of_service = join(folder, "service");
const of_command = join(folder, "command");

let api: TestApi;
let account: TestAccount;

before(async () => {
  writeKeys(newSecretKey());
  api = await startApi({ secrets: openSecrets(keyReader({ file: of_service })) });
  account = await makeAccount(api.app);
});
after(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

function writeKeys(...keys: string[]): void {
  for (const file of [of_service, of_command]) writeFileSync(file, `${keys.join("\n")}\n`);
}

async function rotate(...more: string[]): Promise<{ resealed: number }> {
  const ended = await runCommandLine(["secrets", "rotate", "--json", ...more], {
    DATABASE_URL: api.database_url,
    DATA_DIR: folder,
    PORT: "0",
    TRUNKLINE_SECRET_KEY_FILE: of_command,
  });
  assert.equal(ended.code, 0, ended.stderr);
  return JSON.parse(ended.stdout) as { resealed: number };
}

const endpoints = "/api/v1/callbacks/endpoints";
const makeEndpoint = async () => {
  const json = { url: "https://example.com/hook" };
  const { status, text, body } = await api.send("POST", endpoints, { token: account.token, json });
  assert.equal(status, 201, text);
  return body;
};

test("a key that every machine has behind the current one before any seals with it cuts off no process", async () => {
  const former = readFileSync(of_command, "utf8").trim();
  const made = [await makeEndpoint()];
  const assertReadable = async () => {
    for (const { id, secret } of made) {
      const read = await api.send("GET", `${endpoints}/${id}/secret`, { token: account.token });
      assert.deepEqual([read.status, read.body.secret], [200, secret]);
    }
  };
  const current = newSecretKey();
  writeKeys(former, current);
  // Moved to the front on one machine after the other.
  writeFileSync(of_command, `${current}\n${former}\n`);
  assert.equal((await rotate()).resealed, 1);
  await assertReadable();
  made.push(await makeEndpoint());
  writeFileSync(of_service, `${current}\n${former}\n`);
  assert.equal((await rotate()).resealed, 1);
  assert.equal((await rotate()).resealed, 0);
  writeKeys(current);
  await assertReadable();
});

test("the file with a new key keeps its owner, group and mode", async () => {
  // Only root can give a file to another user.
  const is_root = process.getuid!() === 0;
  if (is_root) chownSync(of_command, 12_345, 12_346);
  chmodSync(of_command, 0o640);
  const accessOf = () => {
    const { uid, gid, mode } = statSync(of_command);
    return { uid, gid, mode };
  };
  const before_rotation = accessOf();
  await rotate("--new-key");
  assert.equal(readFileSync(of_command, "utf8").trim().split("\n").length, 2);
  assert.deepEqual(accessOf(), before_rotation);
});
