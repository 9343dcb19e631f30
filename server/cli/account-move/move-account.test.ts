import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { after, before, test } from "node:test";
import pg from "pg";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import {
  checkCalls,
  checkCampaigns,
  checkLedger,
  checkVoiceCampaigns,
} from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { fillAccount, type Filled } from "../../../test/support/fill-account.ts";
import { scratchFolder } from "../../../test/support/scratch-folder.ts";
import { test_secret_key } from "../../../test/support/secrets.ts";
import { makeNode, makePhoneNumber, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { recordingName } from "../../calls/audio/delete-recordings.ts";
import { voiceSandboxStub } from "../../../test/support/sandbox-stub.ts";
import { openSecrets } from "../../lib/secrets/secrets.ts";
import { findClosedSecrets } from "../../lib/secrets/stored-secrets.ts";
import { purgeRecordings } from "../../retention/purge-recordings.ts";
import { runCommandLine, type Ended } from "../run-command-line.ts";
import { movedTables } from "./moved-tables.ts";

const passphrase = "a passphrase of the test";
const target_key = randomBytes(32);
const folder = scratchFolder("trunkline-move-");

let source: TestApi;
let target: TestApi;
let full: TestAccount;
let plain: TestAccount;
let filled: Filled;

before(async () => {
  source = await startApi();
  target = await startApi({ secrets: openSecrets(() => [target_key]) });
  await target.app.db.pool.query("select setval('accounts_account_id_seq', 1000)");
  plain = await makeAccount(source.app);
  full = await makeAccount(source.app);
  filled = await fillAccount(source, full);
  // Its ID is the one that the target gives next.
  await makeAccount(source.app);
});
after(async () => {
  await source.close();
  await target.close();
  rmSync(folder, { recursive: true });
});

const shellOf = (api: TestApi) => ({
  DATABASE_URL: api.database_url,
  DATA_DIR: folder,
  PORT: "0",
  TRUNKLINE_SECRET_KEY: api === target ? target_key.toString("base64") : test_secret_key,
  TRUNKLINE_EXPORT_PASSPHRASE: passphrase,
});

function run(api: TestApi, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return runCommandLine(args, { ...shellOf(api), ...env });
}

/** Exports an account and returns the file. */
async function exportOf(account: TestAccount, ...more: string[]): Promise<string> {
  const file = join(folder, unique("export"));
  const ended = await run(source, ["account", "export", String(account.account_id), file, ...more]);
  assert.equal(ended.code, 0, ended.stderr);
  return file;
}

type Places = { readonly node_id: Map<number, number>; readonly trunk_id: Map<number, number> };
const same: Places = { node_id: new Map(), trunk_id: new Map() };

/** Sealed secrets, which each installation seals with its own key, and when retention deletes recordings. */
const not_moved = [
  "secret",
  "old_secret",
  "access_token",
  "app_secret",
  "verify_token",
  "recordings_due_at",
  "recordings_overdue_since",
];

/**
 * Every row of an account's tables, with these nodes and trunks, and without the columns that do not move and the audit
 * entries of the move itself.
 */
async function rowsOf(
  api: TestApi,
  { account_id }: Pick<TestAccount, "account_id">,
  places = same,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const table of movedTables()) {
    const { rows } = await api.app.db.pool.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) - $2::text[] as row from ${table} t where account_id = $1`,
      [account_id, not_moved],
    );
    const moved = rows.filter(
      ({ row }) => !["account.imported", "account.exported"].includes(row["action"] as string),
    );
    const placed = moved.map(({ row }) => {
      for (const column of ["node_id", "trunk_id"] as const)
        if (column in row) row[column] = places[column].get(row[column] as number) ?? row[column];
      return JSON.stringify(row);
    });
    found.set(table, placed.toSorted());
  }
  return found;
}

/** The rows of every table of the target, to show that nothing was written. */
async function countOfAll(api: TestApi): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of movedTables()) {
    const { rows } = await api.app.db.pool.query<{ n: number }>(
      `select count(*)::int as n from ${table}`,
    );
    counts[table] = rows[0]!.n;
  }
  return counts;
}

/** Makes a node and a trunk at the target, for each that the account's rows name. */
async function makePlaces(account: TestAccount): Promise<Places> {
  const idsOf = (rows: Map<string, string[]>, column: string) =>
    new Set(
      [...rows.values()]
        .flat()
        .map((row) => (JSON.parse(row) as Record<string, number | null>)[column])
        .filter((id) => typeof id === "number"),
    );
  const rows = await rowsOf(source, account);
  const places: Places = { node_id: new Map(), trunk_id: new Map() };
  for (const id of idsOf(rows, "node_id")) places.node_id.set(id, await makeNode(target.app));
  for (const id of idsOf(rows, "trunk_id"))
    places.trunk_id.set(id, await makeTrunk(target.app, []));
  return places;
}

const optionsOf = ({ node_id, trunk_id }: Places) => [
  "--nodes",
  [...node_id].map((pair) => pair.join("=")).join(),
  "--trunks",
  [...trunk_id].map((pair) => pair.join("=")).join(),
];

test("the fixture has a row of every table that moves", async () => {
  for (const [table, rows] of await rowsOf(source, full))
    assert.ok(rows.length > 0, `test/support/fill-account.ts: add a row of ${table}`);
});

test("an account moves with its ledger, campaigns and calls intact, and the other account stays as it was", async () => {
  await makeCredits(source.app, plain, { chat: 100, call: 100 });
  const number = await makeChatNumber(source.app, plain);
  const template = await makeChatTemplate(source.app, plain, number);
  await makeChatCampaign(source.app, plain, number, template, [{ phone: "919800000001" }]);
  const before_rows = await rowsOf(source, full);
  const file = await exportOf(plain, "--freeze");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const ended = await run(target, ["account", "import", file]);
  assert.equal(ended.code, 0, ended.stderr);
  const client = new pg.Client({ connectionString: target.database_url });
  await client.connect();
  try {
    await checkLedger(client);
    await checkCampaigns(client);
    await checkVoiceCampaigns(client);
    await checkCalls(client);
  } finally {
    await client.end();
  }
  assert.deepEqual(await rowsOf(source, full), before_rows);
  assert.ok([...(await rowsOf(target, full)).values()].every((rows) => rows.length === 0));
});

test("every row arrives as it was, tokens and secrets go on working, and the account is frozen until it is activated", async () => {
  const file = await exportOf(full, "--freeze");
  // The target's own account and IDs are lower and higher than the moved ones.
  await makePlaces(full);
  const places = await makePlaces(full);
  const other = await makeAccount(target.app);
  await target.app.db.pool.query("select setval('leads_id_seq', 1000000)");
  const other_rows = await rowsOf(target, other);
  const options = [...optionsOf(places), "--operator"];
  const ended = await run(target, ["account", "import", file, ...options]);
  assert.equal(ended.code, 0, ended.stderr);

  const moved = await rowsOf(target, full);
  for (const [table, rows] of await rowsOf(source, full, places))
    assert.deepEqual(moved.get(table), rows, table);
  assert.deepEqual(await rowsOf(target, other), other_rows);
  assert.deepEqual(
    await findClosedSecrets(
      target.app.db,
      openSecrets(() => [target_key]),
    ),
    [],
  );

  const send = (method: string, path: string, json?: unknown) =>
    target.send(method, `/api/v1${path}`, { token: full.token, ...(json ? { json } : {}) });
  const leads = await send("GET", `/crm/workspaces/${full.workspace_id}/leads`);
  assert.equal(leads.body.data.length, moved.get("leads")!.length);
  const workspace = { name: unique("workspace") };
  const refused = await send("POST", "/crm/workspaces", workspace);
  assert.deepEqual([refused.status, refused.body.type], [503, "unavailable"]);
  assert.equal(refused.headers.get("retry-after"), "60");

  const id = String(full.account_id);
  assert.equal((await run(target, ["account", "unfreeze", id])).code, 0);
  const secret = await send("GET", `/callbacks/endpoints/${filled.endpoint_id}/secret`);
  assert.equal(secret.body.secret, `whsec_${filled.secret.toString("base64")}`);
  const created = await send("POST", "/crm/workspaces", workspace);
  assert.equal(created.status, 201, created.text);
  const largest = moved.get("workspaces")!.map((row) => JSON.parse(row).id as number);
  assert.ok(created.body.id > Math.max(...largest));
  const { rows } = await target.app.db.pool.query("select last_value from leads_id_seq");
  assert.equal(rows[0].last_value, 1_000_000);

  await target.app.db.pool.query("select setval('accounts_account_id_seq', $1)", [
    full.account_id - 1,
  ]);
  assert.ok((await makeAccount(target.app)).account_id > full.account_id);
  const again = await run(source, ["account", "unfreeze", id]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /was exported since it was frozen/);
});

test("retention keeps the recordings of an imported account until it is activated, and deletes those of the frozen source", async () => {
  const account = await makeAccount(source.app, { features: ["voice"] });
  const { account_id } = account;
  const daysAgo = (days: number) => new Date(source.app.clock.now().getTime() - days * 86_400_000);
  const { id } = await makeCall(source.app, account, {
    call: { stage: "ended", ended_at: daysAgo(9), recording_state: "ready" },
  });
  await source.app.db.pool.query(
    "update accounts set retention_recordings_days = 5 where account_id = $1",
    [account_id],
  );
  const places = await makePlaces(account);
  const file = await exportOf(account, "--freeze");
  const imported = await run(target, ["account", "import", file, ...optionsOf(places)]);
  assert.equal(imported.code, 0, imported.stderr);
  const name = recordingName(account_id, id);
  const purge = async (api: TestApi) => {
    const deleted: string[] = [];
    const sandbox: typeof voiceSandboxStub = {
      ...voiceSandboxStub,
      // One that is missing counts as deleted, as at Asterisk.
      async deleteRecording(_, recording) {
        deleted.push(recording);
      },
    };
    const app = { ...api.app, voiceDrivers: { sandbox } };
    await purgeRecordings(app, new AbortController().signal);
    return deleted.filter((recording) => recording === name);
  };
  assert.deepEqual(await purge(target), []);
  assert.deepEqual(await purge(source), [name]);
  const activated = await run(target, ["account", "unfreeze", String(account_id)]);
  assert.equal(activated.code, 0, activated.stderr);
  assert.deepEqual(await purge(target), [name]);
});

test("an account of a repeated export is activated at the target, and stays frozen at the source", async () => {
  const account = await makeAccount(source.app, { features: ["crm"] });
  await exportOf(account, "--freeze");
  const file = await exportOf(account, "--freeze");
  const imported = await run(target, ["account", "import", file]);
  assert.equal(imported.code, 0, imported.stderr);
  const id = String(account.account_id);
  const activated = await run(target, ["account", "unfreeze", id]);
  assert.equal(activated.code, 0, activated.stderr);
  const refused = await run(source, ["account", "unfreeze", id]);
  assert.match(refused.stderr, /was exported since it was frozen/);
});

test("an account that was imported and exported again is not activated without --not-moved", async () => {
  const account = await makeAccount(source.app, { features: ["crm"] });
  const file = await exportOf(account, "--freeze");
  const id = String(account.account_id);
  const imported = await run(target, ["account", "import", file]);
  assert.equal(imported.code, 0, imported.stderr);
  const onward = await run(target, ["account", "export", id, join(folder, unique("export"))]);
  assert.equal(onward.code, 0, onward.stderr);
  const refused = await run(target, ["account", "unfreeze", id]);
  assert.match(refused.stderr, /was exported since it was frozen/);
  assert.equal((await run(target, ["account", "unfreeze", id, "--not-moved"])).code, 0);
});

test("an account that is unfrozen before its export begins is not exported", async () => {
  const account = await makeAccount(source.app, { features: ["crm"] });
  const id = String(account.account_id);
  const file = join(folder, unique("export"));
  const exporting = run(source, ["account", "export", id, file, "--freeze"]);
  await eventually(async () => {
    const { rows } = await source.app.db.pool.query(
      "select from accounts where account_id = $1 and frozen_at is not null",
      [id],
    );
    return rows.length > 0;
  });
  const unfrozen = await run(source, ["account", "unfreeze", id]);
  assert.equal(unfrozen.code, 0, unfrozen.stderr);
  const ended = await exporting;
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /was unfrozen during the export/);
  assert.equal(existsSync(file), false);
});

test("an export to a file that exists fails at once, and neither freezes the account nor changes the file", async () => {
  const account = await makeAccount(source.app, { features: ["crm"] });
  const id = String(account.account_id);
  const file = join(folder, unique("export"));
  writeFileSync(file, "an earlier export");
  const main = join(import.meta.dirname, "../main.ts");
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [main, "account", "export", id, file, "--freeze"], {
    env: { PATH, NODE_COMPILE_CACHE, ...shellOf(source) },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 60_000,
  });
  const [stderr, [code]] = await Promise.all([readText(child.stderr), once(child, "exit")]);
  assert.equal(code, 2, stderr);
  assert.match(stderr, /cannot create the file: EEXIST/);
  assert.equal(readFileSync(file, "utf8"), "an earlier export");
  const { rows } = await source.app.db.pool.query(
    "select frozen_at from accounts where account_id = $1",
    [id],
  );
  assert.deepEqual(rows, [{ frozen_at: null }]);
});

test("an account is not unfrozen without --not-moved after an export that failed while it was written", async () => {
  const account = await makeAccount(source.app, { features: ["crm"] });
  const id = String(account.account_id);
  const main = join(import.meta.dirname, "../main.ts");
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [main, "account", "export", id, "-", "--freeze"], {
    env: { PATH, NODE_COMPILE_CACHE, ...shellOf(source) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // The command that reads the file has ended.
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([readText(child.stderr), once(child, "exit")]);
  assert.equal(code, 1);
  assert.match(stderr, /EPIPE/);
  const refused = await run(source, ["account", "unfreeze", id]);
  assert.match(refused.stderr, /was exported since it was frozen/);
  assert.equal((await run(source, ["account", "unfreeze", id, "--not-moved"])).code, 0);
});

test("an imported account loses the feature operator and endpoints of other accounts' phones unless --operator is given, and its limits are listed", async () => {
  const account = await makeAccount(source.app, { features: ["crm", "voice", "operator"] });
  const id = String(account.account_id);
  const own = `a${id}-front`;
  for (const [extension, endpoint] of [
    ["201", "a1-200"],
    ["202", own],
  ]) {
    const json = { extension, endpoint, name: "Front" };
    const created = await source.send("POST", "/api/v1/extensions", { token: account.token, json });
    assert.equal(created.status, 201, created.text);
  }
  const limits = ["--storage-megabytes", "900000", "--call-destinations", "*"];
  assert.equal((await run(source, ["account", "limits", id, ...limits])).code, 0);
  const file = await exportOf(account, "--freeze");
  const notesOf = async (...more: string[]) => {
    const ended = await run(target, ["account", "import", file, ...more, "--json"]);
    assert.equal(ended.code, 0, ended.stderr);
    return (JSON.parse(ended.stdout) as { notes: string[] }).notes.join("\n");
  };
  const limits_noted = /call_destinations_allowed \["\*"\].* storage_megabytes 900000/;
  const dry = await notesOf("--dry-run");
  assert.match(dry, /feature operator will be removed/);
  assert.match(dry, limits_noted);
  assert.match(await notesOf("--dry-run", "--operator"), /will have the feature operator/);
  const stored = await notesOf();
  assert.match(stored, /feature operator was removed/);
  assert.match(stored, /endpoints of the extensions 201 did not begin/);
  assert.match(stored, limits_noted);
  const send = (path: string) => target.send("GET", `/api/v1${path}`, { token: account.token });
  assert.deepEqual((await send("/account")).body.features, ["crm", "voice"]);
  assert.equal((await send("/voice-nodes")).status, 403);
  const { data: extensions } = (await send("/extensions")).body;
  assert.deepEqual(
    extensions.map(({ extension, endpoint }: Record<string, unknown>) => [extension, endpoint]),
    [
      ["201", `a${id}-201`],
      ["202", own],
    ],
  );
});

test("an import lists the numbers, the WhatsApp access and the credit that the file brings, before and after it is stored", async () => {
  const bring = async (has_credential: boolean) => {
    const account = await makeAccount(source.app);
    const chosen = { name: "Shop\nStored.\u001b[2J" };
    const { account_id } = account;
    await source.app.db.query
      .updateTable("accounts")
      .set(chosen)
      .where("account_id", "=", account_id)
      .execute();
    const phone = `9180${String(account_id).padStart(8, "0")}`;
    await makePhoneNumber(source.app, account, phone);
    const number = await makeChatNumber(source.app, account, { driver: "whatsapp" });
    await makeCredits(source.app, account, { chat: 700, call: 30 });
    if (has_credential) {
      const path = `/api/v1/whatsapp-credentials/${account_id}`;
      const operator = await makeAccount(source.app, { features: ["operator"] });
      const json = { access_token: "EAAB" };
      const set = await source.send("PUT", path, { token: operator.token, json });
      assert.equal(set.status, 200, set.text);
    }
    const file = await exportOf(account, "--freeze");
    for (const more of [["--dry-run"], []]) {
      const ended = await run(target, ["account", "import", file, ...more]);
      assert.equal(ended.code, 0, ended.stderr);
      assert.match(ended.stdout, new RegExp(`phone numbers ${phone}, which it shows`));
      const sends_with = has_credential
        ? "the account's own credential"
        : "this installation's token";
      const { provider_phone_number_id: id, business_account_id } = number;
      assert.match(ended.stdout, new RegExp(`919000000000 \\(ID ${id}\\), .* with ${sends_with}`));
      assert.match(
        ended.stdout,
        new RegExp(`business account ${business_account_id}, whose webhooks`),
      );
      assert.ok(ended.stdout.includes(String.raw`Shop\u000aStored.\u001b[2J`));
      assert.match(ended.stdout, /credit that the file brings: 30 call, 700 chat/);
    }
  };
  await Promise.all([bring(false), bring(true)]);
});

test("a repeated import, a wrong passphrase, and a truncated or changed file are refused, and nothing is written", async () => {
  const account = await makeAccount(source.app);
  const file = await exportOf(account, "--freeze");
  const bytes = readFileSync(file);
  const counts = await countOfAll(target);
  const damage = (change: (copy: Buffer) => Buffer) => {
    const damaged = join(folder, unique("damaged"));
    writeFileSync(damaged, change(Buffer.from(bytes)));
    return damaged;
  };
  const changedAt = (place: number) =>
    damage((copy) => {
      copy[place]! ^= 1;
      return copy;
    });
  const first_chunk = bytes.indexOf("\n") + 1;
  const cases: [string, RegExp, Record<string, string>?][] = [
    [file, /PASSPHRASE is not the one/, { TRUNKLINE_EXPORT_PASSPHRASE: "another passphrase" }],
    [file, /Set TRUNKLINE_EXPORT_PASSPHRASE/, { TRUNKLINE_EXPORT_PASSPHRASE: "" }],
    [damage((copy) => copy.subarray(0, copy.length - 1)), /not complete/],
    [damage((copy) => copy.subarray(0, first_chunk)), /not complete/],
    [damage((copy) => Buffer.concat([copy, Buffer.from("x")])), /changed or damaged/],
    [changedAt(bytes.length - 100), /changed or damaged/],
    [changedAt(first_chunk + 20), /changed or damaged/],
    [damage(() => Buffer.from("nonsense\n")), /not an exported account/],
    [join(folder, "none"), /ENOENT/],
  ];
  for (const [given, reason, env] of cases) {
    const ended = await run(target, ["account", "import", given], env);
    assert.notEqual(ended.code, 0);
    assert.match(ended.stderr, reason);
  }
  assert.deepEqual(await countOfAll(target), counts);
  const stored = await run(target, ["account", "import", file]);
  assert.equal(stored.code, 0, stored.stderr);
  const stored_counts = await countOfAll(target);
  const again = await run(target, ["account", "import", file]);
  assert.match(again.stderr, /exists here/);
  assert.deepEqual(await countOfAll(target), stored_counts);
});

test("an export counts the recordings of calls and of callers' messages that stay on their nodes", async () => {
  const account = await makeAccount(source.app);
  const campaign = await makeVoiceCampaign(source.app, account, { recipients: [{}, {}] });
  const messages = (["ready", "ready", "failed"] as const).map((state) => ({
    recording: unique("message"),
    node: "ask",
    state,
  }));
  await makeVoiceCall(source.app, account, campaign, { call: { recording_state: "ready" } });
  await makeVoiceCall(source.app, account, campaign, { recipient_id: 2, messages });
  const file = join(folder, unique("export"));
  const ended = await run(source, ["account", "export", String(account.account_id), file]);
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(
    ended.stdout,
    /1 recordings of calls and 2 of callers' messages stay on their nodes/,
  );
});

test("a dry run reports everything at once, and an account that was active is not imported", async () => {
  const account = await makeAccount(source.app);
  const node = await makeNode(source.app);
  const trunk = await makeTrunk(source.app, [node]);
  await makeCredits(source.app, account, { call: 10 });
  await makeCall(source.app, account, { place: { node_id: node, trunk_id: trunk } });
  const number = await makeChatNumber(source.app, account);
  const file = await exportOf(account);
  await target.app.db.pool.query(
    `insert into chat_routes select driver, kind, provider_id, $2, 1 from unnest($1::text[]) p (provider_id),
       (values ('sandbox', 'phone_number')) k (driver, kind)`,
    [[number.provider_phone_number_id], 999_999],
  );
  const counts = await countOfAll(target);
  const dry = await run(target, ["account", "import", file, "--dry-run", "--json"]);
  assert.equal(dry.code, 1);
  const { problems } = JSON.parse(dry.stdout) as { problems: string[] };
  for (const reason of [
    /was active/,
    /Node \d+, /,
    /Trunk \d+, /,
    /account 999999 here: .* trunkline whatsapp unbind 999999 pn/,
  ])
    assert.ok(
      problems.some((problem) => reason.test(problem)),
      `${reason} in ${problems.join("; ")}`,
    );
  const ended = await run(target, ["account", "import", file]);
  assert.equal(ended.code, 1);
  assert.deepEqual(ended.stderr.trim().split("\n").toSorted(), problems.toSorted());
  assert.deepEqual(await countOfAll(target), counts);
});
