import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import { makeChatNumber } from "../../../test/support/chat-factory.ts";
import { scratchFolder } from "../../../test/support/scratch-folder.ts";
import { test_secret_key, testSecrets } from "../../../test/support/secrets.ts";
import { makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { runCommandLine } from "../run-command-line.ts";
import { sealArchive } from "./archive-cipher.ts";
import { encodeRecord, type ArchiveHeader, type ArchiveRecord } from "./archive-records.ts";
import { readArchive } from "./import-account.ts";
import { movedTables } from "./moved-tables.ts";

const passphrase = "a passphrase of the test";
const folder = scratchFolder("trunkline-import-");

let source: TestApi;
let target: TestApi;
let account: TestAccount;
let other: TestAccount;
let file: string;
let place: { node_id: number; trunk_id: number };
let options: string[];
/** A number whose sender was interrupted. */
let interrupted_id: number;

before(async () => {
  source = await startApi();
  target = await startApi();
  await target.app.db.pool.query("select setval('accounts_account_id_seq', 1000)");
  account = await makeAccount(source.app);
  other = await makeAccount(target.app);
  const node_id = await makeNode(source.app);
  place = { node_id, trunk_id: await makeTrunk(source.app, [node_id]) };
  await makeCredits(source.app, account, { call: 10 });
  await makeCall(source.app, account, { place });
  await makeCredential(source, account.account_id);
  interrupted_id = (await makeChatNumber(source.app, account)).id;
  await source.app.db.pool.query(
    `insert into leases (account_id, name, fence, holder, expires_at)
     values ($1, $2, 7, gen_random_uuid(), now() - interval '1 minute')`,
    [account.account_id, `chat_sender:${interrupted_id}`],
  );
  // Others than at the source, so that calls are stored through a temporary table.
  await makeNode(target.app);
  const node = await makeNode(target.app);
  await makeTrunk(target.app, [node]);
  const trunk = await makeTrunk(target.app, [node]);
  options = ["--nodes", `${node_id}=${node}`, "--trunks", `${place.trunk_id}=${trunk}`];
  file = join(folder, "export");
  const ended = await run(source, "export", String(account.account_id), file, "--freeze");
  assert.equal(ended.code, 0, ended.stderr);
});
after(async () => {
  await source.close();
  await target.close();
  await rm(folder, { recursive: true });
});

/** Gives the account sealed secrets. */
async function makeCredential({ app }: TestApi, account_id: number): Promise<void> {
  const columns = ["access_token", "app_secret", "verify_token"];
  const sealed = columns.map((column) =>
    testSecrets.seal({ column: `whatsapp_credentials.${column}`, account_id, id: 0 }, "EAAB"),
  );
  await app.db.pool.query(
    `insert into whatsapp_credentials (account_id, ${columns.join(", ")}, created_at, updated_at)
     values ($1, $2, $3, $4, now(), now())`,
    [account_id, ...sealed],
  );
}

function run(api: TestApi, command: string, ...operands: string[]) {
  return runCommandLine(["account", command, ...operands], {
    DATABASE_URL: api.database_url,
    DATA_DIR: folder,
    PORT: "0",
    TRUNKLINE_SECRET_KEY: test_secret_key,
    TRUNKLINE_EXPORT_PASSPHRASE: passphrase,
  });
}

/** The header, and the lines of each of its tables. */
type Contents = { header: ArchiveHeader; readonly lines: string[][] };

async function readContents(): Promise<Contents> {
  const { header, records } = await readArchive(createReadStream(file), passphrase);
  const lines: string[][] = [];
  for await (const record of records) {
    if (record.kind === "table") lines.push([]);
    if (record.kind !== "rows") continue;
    lines.at(-1)!.push(...record.bytes.toString().split("\n").slice(0, -1));
  }
  return { header, lines };
}

/** Writes a file whose checksums are right, as whoever has the passphrase can. */
async function writeContents({ header, lines }: Contents): Promise<string> {
  const records: ArchiveRecord[] = [{ kind: "header", header }];
  for (const [i, table] of header.tables.entries()) {
    const bytes = Buffer.from(lines[i]!.map((line) => `${line}\n`).join(""));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    records.push({ kind: "table", name: table.name }, { kind: "rows", bytes });
    records.push({ kind: "table_end", end: { rows: table.rows, sha256 } });
  }
  const zipped = gzipSync(Buffer.concat(records.map(encodeRecord)));
  const path = join(folder, unique("changed"));
  const sealed = sealArchive(passphrase)(Readable.from([zipped]));
  await writeFile(path, await buffer(Readable.from(sealed)));
  return path;
}

/** Returns a table's last row with these values. */
function rowLike({ header, lines }: Contents, table: string, values: Record<string, string>) {
  const at = header.tables.findIndex(({ name }) => name === table);
  const row = lines[at]!.at(-1)!.split("\t");
  for (const [column, value] of Object.entries(values))
    row[header.tables[at]!.columns.indexOf(column)] = value;
  return row.join("\t");
}

/** Adds a row to a table, by default without changing the count of its rows. */
function addRow(contents: Contents, table: string, values: Record<string, string>, counted = 0) {
  const tables = [...contents.header.tables];
  const at = tables.findIndex(({ name }) => name === table);
  contents.lines[at]!.push(rowLike(contents, table, values));
  tables[at] = { ...tables[at]!, rows: tables[at]!.rows + counted };
  contents.header = { ...contents.header, tables };
}

/** The values of a token with a known secret. */
const tokenOf = (account_id: number, id: number) => ({
  account_id: String(account_id),
  id: String(id),
  secret_sha256: `\\\\x${randomBytes(32).toString("hex")}`,
});

/** Returns the rows of every table and the last ID of every identity of the target. */
async function stateOfTarget() {
  const { pool } = target.app.db;
  const state = [];
  for (const table of movedTables()) {
    const { rows } = await pool.query(`select count(*)::int as n from ${table}`);
    state.push([table, rows[0].n]);
  }
  const ids = "select sequencename, last_value from pg_sequences order by 1";
  return [...state, ...(await pool.query(ids)).rows];
}

async function assertRefused(
  contents: Contents,
  reason: RegExp,
  given: readonly string[] = options,
): Promise<void> {
  const state = await stateOfTarget();
  const ended = await run(target, "import", await writeContents(contents), ...given);
  assert.equal(ended.code, 1, ended.stdout);
  assert.match(ended.stderr, reason);
  assert.deepEqual(await stateOfTarget(), state);
}

test("a file with a row of another account is refused, and nothing is stored", async () => {
  const token = tokenOf(other.account_id, 999_999);
  const added = await readContents();
  addRow(added, "tokens", token);
  await assertRefused(added, /2 rows of tokens are in the file, and 1 were exported/);
  const counted = await readContents();
  addRow(counted, "tokens", token, 1);
  await assertRefused(counted, /1 rows of tokens belong to account \d+ now, and 2 were exported/);
});

test("a file with a call of another account on a node with another ID is refused, and nothing is stored", async () => {
  const contents = await readContents();
  addRow(contents, "calls", { account_id: String(other.account_id), id: "999999" });
  await assertRefused(contents, /2 rows of calls are in the file, and 1 were exported/);
});

test("a file with a table twice, which hides a row of another account from the count, is refused", async () => {
  const contents = await readContents();
  const tables = [...contents.header.tables];
  const tokens = tables.find(({ name }) => name === "tokens")!;
  tables[tables.length - 1] = { ...tokens, rows: 2 };
  for (const owner of [account, other])
    contents.lines.at(-1)!.push(rowLike(contents, "tokens", tokenOf(owner.account_id, 999_999)));
  contents.header = { ...contents.header, tables };
  await assertRefused(contents, /tables of the file are not those of this installation/);
});

test("a file with last IDs of other tables or out of range is refused, and nothing is stored", async () => {
  for (const last_ids of [
    { leads: 2 ** 52 + 1 },
    { leads: 1.5 },
    { leads: "9" as unknown as number },
    { leads: -1 },
    { voice_nodes: 5 },
    { chat_routes: 5 },
  ]) {
    const contents = await readContents();
    contents.header = {
      ...contents.header,
      last_ids: { ...contents.header.last_ids, ...last_ids },
    };
    await assertRefused(contents, /invalid last ID of the table (?:leads|voice_nodes|chat_routes)/);
  }
});

/** Replaces a table's last row by one with these values. */
function changeRow(contents: Contents, table: string, values: Record<string, string>) {
  const row = rowLike(contents, table, values);
  const at = contents.header.tables.findIndex(({ name }) => name === table);
  contents.lines[at]!.splice(-1, 1, row);
}

test("a file whose account is active, but frozen in the header, is refused, and nothing is stored", async () => {
  const contents = await readContents();
  changeRow(contents, "accounts", { frozen_at: String.raw`\N` });
  await assertRefused(contents, /account is active in its row, but frozen in the header/);
});

test("a file whose rows name a node or trunk that no option chose is refused, and nothing is stored", async () => {
  const unlisted = await readContents();
  unlisted.header = { ...unlisted.header, trunks: [] };
  const reason = new RegExp(
    `the trunk_id ${place.trunk_id}, which is not one of those that --trunks chose`,
  );
  await assertRefused(unlisted, reason, options.slice(0, 2));
  const changed = await readContents();
  changeRow(changed, "calls", { node_id: "1" });
  changed.header = { ...changed.header, nodes: [] };
  await assertRefused(changed, /rows of calls contain the node_id 1,/, options.slice(2));
});

test("a file whose rows contain a secret that the header lacks and no key here opens is refused, and nothing is stored", async () => {
  const unknown = `sealed:v1:0123456789abcdef:${"A".repeat(43)}`;
  const known = testSecrets.currentKey();
  const cases: [string, RegExp][] = [
    [unknown, /access_token .* is sealed with the key 0123456789abcdef, which is not among/],
    [`sealed:v1:${known}:${"A".repeat(43)}`, /access_token .* was changed/],
    ["EAAB", /access_token .* is not sealed/],
  ];
  for (const [access_token, reason] of cases) {
    const contents = await readContents();
    changeRow(contents, "whatsapp_credentials", { access_token });
    const { secrets } = contents.header;
    const others = secrets.filter(({ column }) => !column.endsWith("access_token"));
    assert.equal(others.length, secrets.length - 1);
    for (const listed of [others, []]) {
      contents.header = { ...contents.header, secrets: listed };
      await assertRefused(contents, reason);
    }
  }
});

test("a file that was read and written again is stored, and its leases are ended and count for no process", async () => {
  const contents = await readContents();
  const held = { holder: randomUUID(), expires_at: "2100-01-01 00:00:00+00" };
  const max = { fence: "9223372036854775807", takeovers: "2147483647" };
  for (const name of [
    "callbacks:5",
    "chat_sender:999999",
    "chat_sender:all",
    `chat_sender:${"9".repeat(19)}`,
    "pool:chat_sender:a",
    "primary_reads",
    "voice_node:1",
  ])
    addRow(contents, "leases", { ...held, ...max, name }, 1);
  const ended = await run(target, "import", await writeContents(contents), ...options);
  assert.equal(ended.code, 0, ended.stderr);
  const { rows } = await target.app.db.pool.query(
    `select name, holder is not null as is_interrupted, expires_at <= now() as is_ended, takeovers,
       fence between 1 and extract(epoch from now()) * 1000 as is_fence
     from leases where account_id = $1 order by name`,
    [account.account_id],
  );
  const stored = { is_ended: true, takeovers: 0, is_fence: true };
  assert.deepEqual(rows, [
    { name: "callbacks:5", is_interrupted: false, ...stored },
    { name: `chat_sender:${interrupted_id}`, is_interrupted: true, ...stored },
    { name: "chat_sender:999999", is_interrupted: false, ...stored },
  ]);
});
