import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { startRealtimeStub } from "../../test/support/realtime-stub.ts";
import { emptyDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  makeAccount,
  makeCredits,
  makeToken,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { makeCall } from "../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import { makeTrunk } from "../../test/support/telephony-factory.ts";
import { test_secret_key } from "../../test/support/secrets.ts";
import { findVoiceNode } from "../telephony/nodes/find-voice-node.ts";
import { startService, type ServiceProcess } from "../../test/support/service-process.ts";
import { commands } from "./commands.ts";
import { commandHelp } from "./help.ts";
import { runCommandLine, type Ended } from "./run-command-line.ts";

let api: TestApi;
let account: TestAccount;
let data_dir: string;

before(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "trunkline-cli-"));
  api = await startApi();
  account = await makeAccount(api.app);
});
after(async () => {
  await api.close();
  await rm(data_dir, { recursive: true, force: true });
});

type Ran = Ended & {
  /** The parsed output of `--json`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read outputs of every shape
  readonly json: any;
};

/** The environment of an operator's shell, with these variables. */
function shell(env: Record<string, string>): Record<string, string> {
  const key = env["DATABASE_URL"] ? { TRUNKLINE_SECRET_KEY: test_secret_key } : {};
  // No fixed port, which another program may have.
  return { DATA_DIR: data_dir, PORT: "0", ...key, ...env };
}

/** Runs the command line in this process, which is a hundred times cheaper than its own. */
async function runIn(env: Record<string, string>, ...args: string[]): Promise<Ran> {
  const ended = await runCommandLine(args, shell(env));
  const has_json = args.includes("--json") && ended.stdout !== "";
  return { ...ended, json: has_json ? JSON.parse(ended.stdout) : undefined };
}

/** Runs the program itself. */
function runProgram(
  env: Record<string, string>,
  ...args: string[]
): Promise<[code: number, stdout: string, stderr: string]> {
  const { promise, resolve } = Promise.withResolvers<[number, string, string]>();
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const options = { env: { PATH, NODE_COMPILE_CACHE, ...shell(env) } };
  const main = join(import.meta.dirname, "main.ts");
  execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) =>
    resolve([error === null ? 0 : Number(error.code), stdout, stderr]),
  );
  return promise;
}

const run = (...args: (string | string[])[]) =>
  runIn({ DATABASE_URL: api.database_url }, ...args.flat());

/** Runs a command with --json and asserts that it succeeds. */
async function done(...args: (string | string[])[]) {
  const ran = await run(...args, "--json");
  assert.equal(ran.code, 0, ran.stderr);
  return ran.json;
}

const ofAccount = () => ["--account", String(account.account_id)];

test("an operator creates an account, a role, a user and tokens that work immediately, and the audit trail names no user", async () => {
  const made = await done(
    ["account", "create", "--name", "Acme", "--features", "crm,voice"],
    ["--owner-name", "Ola", "--owner-email", "Ola@Acme.Example", "--time-zone", "Asia/Kolkata"],
  );
  assert.deepEqual(made, {
    id: made.id,
    name: "Acme",
    features: ["crm", "voice"],
    country_code: "91",
    time_zone: "Asia/Kolkata",
    region_locked: false,
    requests: made.requests,
    chat: made.chat,
    calls: made.calls,
    credits: made.credits,
    retention: made.retention,
    storage: { used_bytes: 0, megabytes_max: 50_000 },
    owner_id: made.owner_id,
  });
  assert.equal(made.chat.writes_a_minute, 300);
  const of = ["--account", String(made.id)];
  const role = await done(
    "role",
    "create",
    ...of,
    "--name",
    "sales",
    "--permissions",
    "users.read",
  );
  const user = await done(
    ["user", "create", ...of, "--name", "Asha", "--email", "asha@acme.example"],
    ["--role", String(role.id), "--phone", "9876543210", "--extension", "201"],
  );
  assert.equal(user.role_id, role.id);
  const agent = await done(
    ["token", "create", ...of, "--kind", "agent", "--user", String(user.id)],
    ["--name", "phone", "--scopes", "users.read", "--expires", "2999-01-01 00:00"],
  );
  assert.equal(agent.expires_at, "2998-12-31T18:30:00.000Z", "local to the account");
  const owner = await done("token", "create", ...of, "--kind", "account", "--name", "first");
  assert.equal(owner.created_by, made.owner_id);
  const users = await api.send("GET", "/api/v1/users", { token: agent.token });
  assert.equal(users.status, 200);
  const audit = await api.send("GET", "/api/v1/audit", { token: owner.token });
  assert.deepEqual(
    audit.body.data.map((entry: { action: string; user_id: unknown }) => [
      entry.action,
      entry.user_id,
    ]),
    [
      ["token.created", null],
      ["token.created", null],
      ["user.created", null],
      ["role.created", null],
      ["account.created", null],
    ],
  );
  assert.match(audit.body.data[0].request_id, /^cli_/);
});

test("an operator removes the passkeys of a user, also of the owner", async () => {
  const { account_id, owner_id, token } = await makeAccount(api.app);
  await api.app.db.pool.query(
    `insert into user_passkeys
       (account_id, user_id, credential_id, public_key, counter, transports, name, created_at)
     values ($1, $2, 'AAAA', '', 0, '{}', 'Laptop', now())`,
    [account_id, owner_id],
  );
  const passkeys = async () =>
    (await api.send("GET", `/api/v1/users/${owner_id}`, { token })).body.passkeys as number;
  assert.equal(await passkeys(), 1);
  await done("user", "reset-passkeys", String(owner_id), "--account", String(account_id));
  assert.equal(await passkeys(), 0);
  const audit = await api.send("GET", "/api/v1/audit?action=passkey.removed", { token });
  assert.deepEqual(
    audit.body.data.map((entry: { user_id: unknown; detail: unknown }) => [
      entry.user_id,
      entry.detail,
    ]),
    [[null, { user_id: owner_id }]],
  );
});

test("only an operator changes how many campaigns an account may create per minute", async () => {
  const limited = await makeAccount(api.app);
  const id = String(limited.account_id);
  const rate = async () => (await api.app.tokens.find(limited.token))!.account.chat_writes_a_minute;
  assert.equal(await rate(), 300);
  const shown = await done("account", "limits", id);
  assert.equal(shown.chat_writes_a_minute, 300);
  for (const wrong of ["0", "100001", "-1", "1.5", "x", ""]) {
    const { code } = await run("account", "limits", id, `--chat-writes-a-minute=${wrong}`);
    assert.equal(code, 2, wrong);
  }
  const changed = await done("account", "limits", id, "--chat-writes-a-minute", "2");
  assert.deepEqual(changed, { ...shown, chat_writes_a_minute: 2 });
  await eventually(async () => (await rate()) === 2);
  const account_now = await api.send("GET", "/api/v1/account", { token: limited.token });
  assert.equal(account_now.body.chat.writes_a_minute, 2);
  const audit = await api.send("GET", "/api/v1/audit?action=account.limits_set", {
    token: limited.token,
  });
  assert.deepEqual(audit.body.data[0].detail, { chat_writes_a_minute: 2 });
});

test("an operator changes how many requests an account and each of its tokens may send per minute", async () => {
  const limited = await makeAccount(api.app);
  const id = String(limited.account_id);
  const { requests_a_minute, ...shown } = await done("account", "limits", id);
  assert.equal(requests_a_minute, 2_000_000);
  const set = ["--requests-a-minute", "600", "--token-requests-a-minute", "1"];
  const changed = await done("account", "limits", id, ...set);
  assert.deepEqual(changed, { ...shown, requests_a_minute: 600, token_requests_a_minute: 1 });
  const read = () => api.send("GET", "/api/v1/account", { token: limited.token });
  assert.deepEqual((await read()).body.requests, { a_minute: 600, of_token_a_minute: 1 });
  assert.equal((await read()).status, 429);
});

test("an operator bounds an account's calling hours and region, and lifts the bounds", async () => {
  const { account_id } = await makeAccount(api.app);
  const set = (...words: string[]) => done("account", "limits", String(account_id), ...words);
  const bound = await set("--calling-hours", "08:00-21:00", "--region-locked", "yes");
  assert.deepEqual([bound.calling_hours, bound.region_locked], ["08:00-21:00", true]);
  const lifted = await set("--calling-hours", "", "--region-locked", "no");
  assert.deepEqual([lifted.calling_hours, lifted.region_locked], [null, false]);
  for (const wrong of [
    ["--calling-hours", "8-21"],
    ["--region-locked", "maybe"],
  ])
    assert.equal((await run("account", "limits", String(account_id), ...wrong)).code, 2);
});

test("only an operator changes the caps on calls, and those not given stay", async () => {
  const limited = await makeAccount(api.app);
  const id = String(limited.account_id);
  const shown = await done("account", "limits", id);
  assert.equal(shown.call_caps.number.legs_hour, 60);
  for (const wrong of ["60", "{", '{"number":{"legs_hour":-1}}', '{"phone":{}}']) {
    const { code } = await run("account", "limits", id, "--call-caps", wrong);
    assert.equal(code, 2, wrong);
  }
  const wanted = '{"number":{"legs_hour":300,"legs_day":null}}';
  const changed = await done("account", "limits", id, "--call-caps", wanted);
  const number = { ...shown.call_caps.number, legs_hour: 300, legs_day: null };
  assert.deepEqual(changed.call_caps, { ...shown.call_caps, number });
  const token = await makeToken(api.app, limited);
  const { body } = await api.send("GET", "/api/v1/account", { token });
  assert.deepEqual(body.calls.caps, changed.call_caps);
  const json = { calls: { caps: {} } };
  assert.equal((await api.send("PATCH", "/api/v1/account", { token, json })).status, 422);
});

test("only an operator changes the length of a pulse", async () => {
  const limited = await makeAccount(api.app);
  const id = String(limited.account_id);
  const shown = await done("account", "limits", id);
  assert.equal(shown.call_pulse_seconds, 60);
  for (const wrong of ["0", "3601", "1.5", "x", ""]) {
    const { code } = await run("account", "limits", id, `--call-pulse-seconds=${wrong}`);
    assert.equal(code, 2, wrong);
  }
  const changed = await done("account", "limits", id, "--call-pulse-seconds", "30");
  assert.deepEqual(changed, { ...shown, call_pulse_seconds: 30 });
  const account_now = await api.send("GET", "/api/v1/account", { token: limited.token });
  assert.equal(account_now.body.calls.pulse_seconds, 30);
});

test("only an operator changes the storage quota of an account", async () => {
  const limited = await makeAccount(api.app);
  const id = String(limited.account_id);
  const shown = await done("account", "limits", id);
  assert.deepEqual([shown.storage_megabytes, shown.storage_used_bytes], [50_000, 0]);
  const changed = await done("account", "limits", id, "--storage-megabytes", "7");
  assert.deepEqual(changed, { ...shown, storage_megabytes: 7 });
  const { token } = limited;
  const { body } = await api.send("GET", "/api/v1/account", { token });
  assert.deepEqual(body.storage, { used_bytes: 0, megabytes_max: 7 });
  const json = { storage: { megabytes_max: 8 } };
  assert.equal((await api.send("PATCH", "/api/v1/account", { token, json })).status, 422);
});

test("an operator adds a WhatsApp number to an account that may not add it itself, and sets its credential", async () => {
  const tenant = await makeAccount(api.app, { features: ["bulk_chat"] });
  const id = unique("pn");
  const bind = ["whatsapp", "bind", String(tenant.account_id), "--name", "Shop"];
  const ids = ["--phone-number-id", id, "--business-account-id", unique("ba")];
  const number = await done(bind, ["--phone-number", "+91 98765 43210"], ids);
  const seen = await api.send("GET", `/api/v1/chat/numbers/${number.id}`, { token: tenant.token });
  assert.deepEqual([seen.status, seen.body.provider_phone_number_id], [200, id]);
  const taken = await run(bind, ["--phone-number", "+91 98765 43210"], ids);
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, /provider_phone_number_id is already in use/);
  const file = join(data_dir, "access-token");
  await writeFile(file, "hidden-token\n");
  const credential = ["whatsapp", "credential"];
  const id_text = String(tenant.account_id);
  const set = await done([...credential, "set", id_text, "--access-token-file", file]);
  assert.deepEqual([set.account_id, set.own_app], [tenant.account_id, false]);
  const own = await api.app.db.query
    .selectFrom("whatsapp_credentials")
    .select("access_token")
    .where("account_id", "=", tenant.account_id)
    .executeTakeFirstOrThrow();
  assert.match(own.access_token, /^sealed:v1:/);
  await done([...credential, "remove", id_text]);
  assert.deepEqual((await done([...credential, "list"])).data, []);
});

test("an operator lists the chat webhooks that could not be read, and has an account's read again", async () => {
  const tenant = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const received_at = new Date("2026-11-01T10:00:00Z");
  for (const { account_id } of [tenant, tenant, other])
    await api.app.db.query
      .insertInto("chat_unread_webhooks")
      .values({
        account_id,
        chat_number_id: 0,
        driver: "meta",
        body: JSON.stringify({ field: "unheard_of" }),
        reason: "unknown field",
        received_at,
      })
      .execute();
  const { account_id } = tenant;
  const stored = { reason: "unknown field", oldest_at: received_at.toISOString() };
  const theirs = { account_id: other.account_id, ...stored, count: 1 };
  assert.deepEqual((await done("webhooks", "unread")).data, [
    { account_id, ...stored, count: 2 },
    theirs,
  ]);
  assert.deepEqual(await done("webhooks", "reprocess", String(account_id)), { count: 2 });
  assert.deepEqual((await done("webhooks", "unread")).data, [theirs]);
  const inbox = await api.app.db.query
    .selectFrom("chat_inbox")
    .select("body")
    .where("account_id", "=", account_id)
    .execute();
  assert.deepEqual(
    inbox.map(({ body }) => body),
    [[{ field: "unheard_of" }], [{ field: "unheard_of" }]],
  );
  const path = "/api/v1/audit?action=chat_webhooks.reprocessed";
  const audit = await api.send("GET", path, { token: tenant.token });
  assert.deepEqual(
    audit.body.data.map(({ detail }: { detail: object }) => detail),
    [{ count: 2 }],
  );
});

test("an operator adds, changes and removes nodes and trunks, and the password is never shown", async () => {
  const file = join(data_dir, "ari-password");
  await writeFile(file, "s3cret\n");
  const load = ["--calls-per-second", "10", "--calls-max", "100"];
  const node = await done(
    ["node", "add", ...ofAccount(), "--name", unique("node"), "--driver", "asterisk", ...load],
    ["--ari-url", "http://127.0.0.1:1/ari", "--ari-user", "u", "--ari-app", unique("app")],
    ["--ari-password-file", file],
  );
  assert.equal(node.ari.password_set, true);
  assert.equal((await findVoiceNode(api.app, node.id)).ari?.password, "s3cret");
  const other = await makeTrunk(api.app, []);
  const trunk = await done(
    ["trunk", "add", ...ofAccount(), "--name", unique("trunk"), "--endpoint", "carrier"],
    ["--caller-ids", "9000000000,9000000001", "--caller-ids-only", "yes"],
    ["--nodes", `${node.id}:5:50`, "--only-account", String(account.account_id)],
  );
  assert.deepEqual(trunk.nodes, [{ node_id: node.id, calls_per_second: 5, calls_max: 50 }]);
  assert.equal(trunk.only_account_id, account.account_id);
  const shared = await done(
    ["trunk", "set", String(trunk.id), ...ofAccount(), "--only-account", ""],
    ["--active", "no", "--fallback-trunk", String(other)],
  );
  assert.deepEqual(
    [shared.only_account_id, shared.active, shared.fallback_trunk_id],
    [null, false, other],
  );
  const received: string[] = [];
  api.app.notifications.on("call_work", (subject) => received.push(subject));
  const off = await done("node", "set", String(node.id), ...ofAccount(), "--active", "no");
  assert.deepEqual({ ...node, active: false, updated_at: off.updated_at }, off);
  await eventually(async () => received.includes(`${node.id}:0`));
  for (const kind of ["node", "trunk"]) {
    const listed = await done(kind, "list");
    assert.deepEqual(listed.data.at(-1), kind === "node" ? off : shared);
  }
  await done("trunk", "remove", String(trunk.id), ...ofAccount());
  await done("node", "remove", String(node.id), ...ofAccount());
  for (const [kind, id] of [
    ["trunk", trunk.id],
    ["node", node.id],
  ])
    assert.equal((await run(kind, "remove", String(id), ...ofAccount())).code, 1);
  const audit = await api.send("GET", "/api/v1/audit?action=voice_node.deleted", {
    token: account.token,
  });
  assert.equal(audit.body.data[0].subject_id, String(node.id));
});

test("an operator assigns phone numbers to accounts, lists them and removes them", async () => {
  const to = ["--to", String(account.account_id)];
  const assigned = await done("number", "assign", "+91 90000 00555", ...to, ...ofAccount());
  assert.deepEqual([assigned.number, assigned.account_id], ["919000000555", account.account_id]);
  assert.deepEqual((await done("number", "list")).data, [assigned]);
  assert.equal((await run("number", "assign", "919000000555", ...to, ...ofAccount())).code, 1);
  await done("number", "remove", assigned.number, ...ofAccount());
  assert.deepEqual((await done("number", "list")).data, []);
});

test("reports what is invalid about a node or a trunk", async () => {
  const load = ["--calls-per-second", "10", "--calls-max", "100"];
  const node = ["node", "add", ...ofAccount(), "--name", "n"];
  const trunk = ["trunk", "add", ...ofAccount(), "--name", "t", "--endpoint", "t"];
  for (const [words, message] of [
    [[...node, "--driver", "asterisk", ...load], /ari/],
    [[...node, "--driver", "sandbox", ...load, "--ari-url", "x"], /ari/],
    [
      [...node, "--driver", "asterisk", ...load, "--ari-password-file", "/nowhere"],
      /^cannot read --ari-password-file: ENOENT/,
    ],
    [["node", "set", "1", ...ofAccount(), "--active", "perhaps"], /must be yes or no/],
    [[...trunk, "--nodes", "1:x"], /nodes\.0/],
    [[...trunk, "--nodes", "99999999:1:1"], /nodes\.0\.node_id.*matches no node/],
  ] as const) {
    const { code, stderr } = await run(...words);
    assert.notEqual(code, 0, words.join(" "));
    assert.match(stderr, message);
  }
});

test("lists are readable by machines and people and never contain a token's secret", async () => {
  const email = `${unique("listed")}@test.example`;
  await done("user", "create", ...ofAccount(), "--name", "Listed", "--email", email, "--inactive");
  const users = await done("user", "list", ...ofAccount());
  const listed = users.data.find((user: { email: string }) => user.email === email);
  assert.equal(listed.active, false);
  await done("role", "create", ...ofAccount(), "--name", "everything", "--permissions", "all");
  const roles = await done("role", "list", ...ofAccount());
  assert.ok(roles.data.some((role: { name: string }) => role.name === "everything"));
  const accounts = await done("account", "list");
  assert.ok(accounts.data.some(({ id }: { id: number }) => id === account.account_id));
  const tokens = await run("token", "list", ...ofAccount());
  assert.equal(tokens.code, 0);
  assert.match(tokens.stdout, /^id +kind +user_id/);
  assert.ok(!tokens.stdout.includes(account.token.split("_")[3]!));
  const invited = await done("user", "invite", ...ofAccount(), "--email", `new.${email}`);
  assert.match(invited.url, /\/sign-in\/invitation#\d+_\d+_[0-9a-f]{64}$/);
  const text = await run("user", "list", ...ofAccount());
  assert.ok(text.stdout.includes(email));
});

test("names that an account chooses neither control the terminal nor forge a row, and stay what they are in JSON", async () => {
  const name = "Shop\u001b]0;x\u0007\n1  operator\u009b2J \u202egnp";
  const { account_id } = await makeAccount(api.app);
  const set = { name };
  await api.app.db.query
    .updateTable("accounts")
    .set(set)
    .where("account_id", "=", account_id)
    .execute();
  const { stdout } = await run("account", "list");
  const shown = String.raw`Shop\u001b]0;x\u0007\u000a1  operator\u009b2J \u202egnp`;
  assert.ok(
    stdout.split("\n").some((line) => line.startsWith(`${account_id} `) && line.includes(shown)),
  );
  const json = await run("account", "list", "--json");
  assert.doesNotMatch(stdout + json.stdout, /[^\P{Cc}\n]|\u202e/u);
  assert.ok(json.json.data.some((listed: { name: string }) => listed.name === name));
});

test("an operator grants credit, which the account can use immediately and finds in its ledger", async () => {
  const granted = await makeAccount(api.app);
  const id = String(granted.account_id);
  const none = { available: 0, reserved: 0 };
  assert.deepEqual(await done("credits", "show", id), { chat: none, call: none });
  const first = await done(
    ["credits", "grant", id, "--kind", "chat"],
    ["--amount", "1000000000000", "--note", "Invoice 7"],
  );
  assert.deepEqual(first.credits, { chat: { available: 1e12, reserved: 0 }, call: none });
  await done("credits", "grant", id, "--kind", "call", "--amount", "1");
  const shown = await run("credits", "show", id);
  assert.equal(
    shown.stdout,
    "kind  available      reserved\nchat  1000000000000  0\ncall  1              0\n",
  );
  const ledger = await api.send("GET", "/api/v1/credits/ledger", { token: granted.token });
  assert.equal(ledger.body.data[0].note, null);
  assert.equal(ledger.body.data[1].id, first.transfer_id);
  assert.equal(ledger.body.data[1].note, "Invoice 7");
  const audit = await api.send("GET", "/api/v1/audit?action=credits.granted", {
    token: granted.token,
  });
  assert.deepEqual(audit.body.data[1], {
    ...audit.body.data[1],
    user_id: null,
    subject_id: String(first.transfer_id),
    detail: { kind: "chat", amount: 1e12 },
  });
});

test("an operator rebuilds the counts of reports, of one account or all", async () => {
  const sender = await makeAccount(api.app);
  const { account_id: id, owner_id } = sender;
  await makeCredits(api.app, sender, { chat: 1 });
  const number = await makeChatNumber(api.app, sender);
  const template = await makeChatTemplate(api.app, sender, number);
  await makeChatCampaign(api.app, sender, number, template, [{ phone: "919800000000" }]);
  const queued_at = new Date(Date.now() - 3 * 86_400_000);
  const call = { stage: "ended", status: "busy", queued_at };
  await makeCall(api.app, { account_id: id, owner_id }, { call });
  const { data } = await done("reports", "rebuild", "--account", String(id));
  assert.equal(data.length, 1);
  assert.equal(data[0].account, id);
  assert.equal(data[0].campaigns, 1);
  assert.ok(data[0].days >= 2, JSON.stringify(data));
  const all = await done("reports", "rebuild");
  assert.deepEqual(
    all.data.find(({ account: of }: { account: number }) => of === id),
    data[0],
  );
  const { code } = await run("reports", "rebuild", "--account", "999999");
  assert.equal(code, 1);
});

test("revocations and feature changes reach a running server that has cached the caller", async () => {
  const token = await makeToken(api.app, account);
  const lead = async () =>
    (
      await api.send("POST", `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`, {
        token,
        json: { phone: "9876543210" },
      })
    ).status;
  assert.equal(await lead(), 201);
  const id = String(account.account_id);
  assert.deepEqual((await done("account", "features", id, "--set", "calls")).features, ["calls"]);
  await eventually(async () => (await lead()) === 403);
  assert.deepEqual((await done("account", "features", id, "--set", "")).features, []);
  assert.deepEqual((await done("account", "features", id, "--set", "crm,calls")).features, [
    "crm",
    "calls",
  ]);
  assert.deepEqual((await done("account", "features", id)).features, ["crm", "calls"]);
  await eventually(async () => (await lead()) === 201);
  const revoked = await done("token", "revoke", token.split("_")[2]!, ...ofAccount());
  assert.ok(revoked.revoked_at);
  await eventually(async () => (await lead()) === 401);
});

test("an invalid command line exits with 2 and says why, before anything changes", async () => {
  const cases: [string[], RegExp][] = [
    [["frobnicate"], /unknown command "frobnicate"/],
    [["token"], /incomplete command; use one of: token create, token list, token revoke/],
    [["user", "list"], /--account missing/],
    [["user", "list", "--account", "x"], /--account: "x" is not a valid ID/],
    [["user", "list", "--acount", "1"], /Unknown option '--acount'/],
    [["account", "features"], /<account> missing/],
    [["account", "list", "more"], /unexpected: more/],
    [["credits", "grant", "1", "--kind", "chat"], /--amount missing/],
    [["credits", "grant", "1", "--kind", "sms", "--amount", "1"], /kind must be one of chat, call/],
    [["credits", "grant", "1", "--kind", "chat", "--amount", "0"], /amount must be/],
    [["credits", "grant", "1", "--kind", "chat", "--amount", "1e3"], /amount must be/],
    [["credits", "grant", "1", "--kind", "chat", "--amount", "1000000000001"], /amount must be/],
    [["account", "features", "1", "--set", "crm,fax"], /features\.1 must be one of crm, bulk_chat/],
    [["role", "create", "--account", "1", "--name", "", "--permissions", "root"], /name must have/],
    [
      ["token", "create", "--account", "1", "--kind", "root", "--name", "x"],
      /kind must be one of account, agent/,
    ],
  ];
  for (const [args, reason] of cases) {
    // No database: none of these may come that far.
    const { code, stdout, stderr } = await runIn(
      { DATABASE_URL: "postgres://127.0.0.1:1/none" },
      ...args,
    );
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, reason);
    assert.equal(stdout, "");
  }
});

test("a failure exits with 1 and says why, as JSON if requested", async () => {
  const owner = "--owner-email o@x.example --owner-name o --name n".split(" ");
  const cases: [string[], RegExp][] = [
    [["user", "list", "--account", "999999"], /Account 999999 does not exist/],
    [["credits", "show", "999999"], /Account 999999 does not exist/],
    [
      ["credits", "grant", "999999", "--kind", "chat", "--amount", "1"],
      /Account 999999 does not exist/,
    ],
    [["account", "create", ...owner, "--time-zone", "Mars/Base"], /time_zone must be an IANA/],
    [["token", "revoke", "999999", ...ofAccount()], /The resource does not exist/],
    [
      ["token", "create", ...ofAccount(), "--kind", "agent", "--name", "x", "--user", "999999"],
      /user_id must be the ID of an active user/,
    ],
  ];
  for (const [args, reason] of cases) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, reason);
    assert.ok(!stderr.includes(" at "), "no stack");
  }
  const { stderr } = await run("token", "revoke", "999999", ...ofAccount(), "--json");
  assert.equal(JSON.parse(stderr).error.type, "not-found");
  const away = await runIn(
    { DATABASE_URL: "postgres://u:secret@127.0.0.1:1/x" },
    "account",
    "list",
  );
  assert.equal(away.code, 1);
  assert.match(away.stderr, /^The database cannot be reached/);
  assert.ok(!away.stderr.includes("secret"));
  const misset = await runIn({ PORT: "x", LOG_LEVEL: "loud" }, "account", "list");
  assert.equal(misset.code, 1);
  assert.match(misset.stderr, /PORT[\s\S]*LOG_LEVEL/);
});

test("every command has a help page", async () => {
  const all = await run("--help");
  assert.equal(all.code, 0);
  for (const command of commands) {
    const { name, summary, options = {} } = command;
    assert.ok(all.stdout.includes(name) && all.stdout.includes(summary), name);
    const help = commandHelp(command);
    for (const option of [...Object.keys(options), "json", "help"])
      assert.ok(help.includes(`--${option}`), `${name} --${option}`);
  }
  // Checks the text only; every command is parsed in the same way.
  for (const command of [commands.at(0)!, commands.at(-1)!]) {
    const { code, stdout } = await run(...command.name.split(" "), "--help");
    assert.deepEqual([code, stdout], [0, `${commandHelp(command)}\n`]);
  }
});

test("migrate sets up an empty database, and other commands say that it is missing", async () => {
  const database = await emptyDatabase();
  try {
    const env = { DATABASE_URL: database.url };
    const early = await runIn(env, "account", "list");
    assert.equal(early.code, 1);
    assert.match(early.stderr, /run: trunkline migrate/);
    const first = await runIn(env, "migrate", "--json");
    assert.equal(first.code, 0, first.stderr);
    assert.ok(first.json.applied.includes("0001-accounts.sql"));
    assert.deepEqual((await runIn(env, "migrate", "--json")).json, { applied: [] });
    assert.equal((await runIn(env, "account", "list")).stdout, "none\n");
  } finally {
    await database.drop();
  }
});

test("doctor passes a healthy installation and changes nothing", async () => {
  // Of another test, without a credential.
  await api.app.db.pool.query("update chat_numbers set active = false");
  const { code, json } = await run("doctor", "--json");
  assert.equal(code, 0, JSON.stringify(json));
  assert.equal(json.ok, true);
  assert.deepEqual(
    json.findings.map(({ check }: { check: string }) => check),
    [
      "configuration",
      "data folder",
      "disks",
      "port",
      "proxy",
      "synchronization",
      "traces",
      "database",
      "clocks",
      "migrations",
      "restored database",
      "read replica",
      "owners",
      "workspaces",
      "secrets",
      "chat numbers",
      "voice nodes",
      "realtime models",
    ],
  );
  const fresh = join(data_dir, "fresh");
  const none = await runIn({ DATA_DIR: fresh }, "doctor");
  assert.equal(none.code, 1);
  assert.match(none.stdout, /FAILED {2}database: does not exist yet; run: trunkline migrate/);
  await assert.rejects(stat(fresh), { code: "ENOENT" });
});

test("doctor reports a model that the realtime server refuses", async () => {
  const stub = await startRealtimeStub();
  const env = { DATABASE_URL: api.database_url, REALTIME_URL: stub.url, REALTIME_MODEL: "retired" };
  try {
    const healthy = await runIn(env, "doctor");
    assert.match(healthy.stdout, /ok {6}realtime models: the realtime server accepts every model/);
    stub.script({ reject: 404 });
    const { code, stdout } = await runIn(env, "doctor");
    assert.equal(code, 1);
    assert.match(
      stdout,
      /FAILED {2}realtime models: the default model: the server refuses the model \(http_404\)/,
    );
  } finally {
    await stub.close();
  }
});

test("doctor reports an installation with https that trusts no proxy", async () => {
  const env = { DATABASE_URL: api.database_url, PUBLIC_URL: "https://outreach.example" };
  const { code, stdout } = await runIn(env, "doctor");
  assert.equal(code, 1);
  assert.match(stdout, /FAILED {2}proxy: .* set TRUSTED_PROXIES/);
  const trusting = await runIn({ ...env, TRUSTED_PROXIES: "127.0.0.1" }, "doctor");
  assert.match(trusting.stdout, /ok {6}proxy: /);
});

test("doctor reports a read replica that is none", async () => {
  const env = {
    DATABASE_URL: api.database_url,
    DATABASE_READ_URL: api.database_url,
    DATABASE_READ_STALENESS_SECONDS: "1",
  };
  const { code, stdout } = await runIn(env, "doctor");
  assert.equal(code, 1);
  assert.match(
    stdout,
    /FAILED {2}read replica: reads use the primary: the server is not a replica/,
  );
});

test("doctor reports a collector that cannot be reached, or that takes no traces", async () => {
  const unreachable = await runIn(
    { DATABASE_URL: api.database_url, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" },
    "doctor",
  );
  assert.equal(unreachable.code, 1);
  assert.match(
    unreachable.stdout,
    /FAILED {2}traces: the collector at 127\.0\.0\.1:1 cannot be reached/,
  );
  const other = await runIn(
    { DATABASE_URL: api.database_url, OTEL_EXPORTER_OTLP_ENDPOINT: api.url },
    "doctor",
  );
  assert.match(other.stdout, /FAILED {2}traces: the collector at \S+ answers 404 to traces/);
});

test("doctor reports each problem by name", async () => {
  const found = async (env: Record<string, string> = {}) => {
    const ran = await runIn({ DATABASE_URL: api.database_url, ...env }, "doctor");
    assert.equal(ran.code, 1);
    return ran.stdout;
  };
  const sick = await makeAccount(api.app);
  const sql = (text: string) => api.app.db.pool.query(text);
  await sql(`update users set is_owner = false where account_id = ${sick.account_id}`);
  await sql(`update picklist_options set is_default = false
    where account_id = ${sick.account_id} and picklist = 'priority'`);
  const secret = join(data_dir, "demo.json");
  await writeFile(secret, "{}");
  await chmod(secret, 0o644);
  await sql(`insert into voice_nodes (name, driver, ari_url, ari_user, ari_password, ari_app,
      sounds_dir, calls_per_second, calls_max, created_at, updated_at)
    values ('unreachable', 'asterisk', 'http://127.0.0.1:1/ari', 'u', 'hidden', 'a', '/nowhere', 1, 1,
      now(), now())`);
  const text = await found();
  assert.match(
    text,
    /FAILED {2}voice nodes: not connected: \d+ \(unreachable, http:\/\/127\.0\.0\.1:1\/ari\)/,
  );
  assert.match(
    text,
    /; \/nowhere, the sounds folder of \d+ \(unreachable\), is not writable from here/,
  );
  assert.doesNotMatch(text, /hidden/);
  await sql("update voice_nodes set active = false where name = 'unreachable'");
  await sql(`insert into chat_numbers (account_id, name, phone, driver, provider_phone_number_id, business_account_id,
      rate_per_second, created_at, updated_at)
    values (${sick.account_id}, 'WhatsApp', '+919876500000', 'whatsapp', '1', '1', 80, now(), now())`);
  await sql(`insert into database_identity (system_identifier, timeline, seen_at, changed_at)
    values ('1', '1', now(), now())`);
  const worse = await found();
  assert.match(worse, /ok {4} {2}voice nodes: /);
  assert.match(
    worse,
    /FAILED {2}chat numbers: no WhatsApp credential for \+919876500000 of account \d+;/,
  );
  assert.match(worse, /FAILED {2}restored database: .*; run: trunkline restored/);
  assert.match(
    text,
    new RegExp(`FAILED {2}owners: accounts without an active owner: ${sick.account_id}`),
  );
  assert.match(
    text,
    new RegExp(`FAILED {2}workspaces: no default in workspace ${sick.workspace_id} of account`),
  );
  assert.match(text, /FAILED {2}data folder: other users can read .*demo\.json; run: chmod 600/);
  await rm(secret);
  assert.match(await found({ PORT: "x" }), /FAILED {2}configuration: [\s\S]*PORT/);
  assert.match(
    await found({ DATABASE_URL: "postgres://127.0.0.1:1/x" }),
    /FAILED {2}database: .*ECONNREFUSED/,
  );
  await sql("update migrations set name = '9' || name where name = '0003-idempotency.sql'");
  assert.match(await found(), /FAILED {2}migrations: not applied: 0003-idempotency\.sql/);
  await sql("update migrations set name = '0003-idempotency.sql' where name like '90003%'");
});

/** Rotates the key in the data folder of a service, which keeps reading and sealing secrets. */
async function rotateWhileItRuns(
  service: ServiceProcess,
  env: Record<string, string>,
  token: string,
): Promise<void> {
  const file = join(service.data_dir, "secret-key");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const endpoints = "/api/v1/callbacks/endpoints";
  const json = { url: "http://127.0.0.1:1/hook" };
  const made = await service.send("POST", endpoints, { token, json });
  assert.equal(made.status, 201, made.text);
  const { id, secret } = made.body;
  const former = (await readFile(file, "utf8")).trim();
  const rotated = await runIn(env, "secrets", "rotate", "--new-key", "--json");
  assert.equal(rotated.code, 0, rotated.stderr);
  assert.equal(rotated.json.resealed, 1);
  const [current, ...others] = (await readFile(file, "utf8")).trim().split("\n");
  assert.notEqual(current, former);
  assert.deepEqual(others, [former]);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const read = await service.send("GET", `${endpoints}/${id}/secret`, { token });
  assert.equal(read.body.secret, secret);
  await service.send("POST", endpoints, { token, json });
  const again = await runIn(env, "secrets", "rotate", "--json");
  assert.equal(again.json.resealed, 0);
  assert.deepEqual(again.json.stored, [
    { column: "callback_endpoints.secret", key: rotated.json.key, count: 2 },
  ]);
  await writeFile(file, `${current}\n`);
  assert.equal((await runIn(env, "doctor")).code, 0);
}

test("uses the embedded database of a running server, and rotates its key", async () => {
  const service = await startService({ CALLBACK_ALLOW: "127.0.0.1" });
  try {
    const env = { DATA_DIR: service.data_dir };
    const { code, json, stderr } = await runIn(env, "account", "list", "--json");
    assert.equal(code, 0, stderr);
    assert.equal(json.data[0].name, "Demo");
    const demo = JSON.parse(await readFile(join(service.data_dir, "demo.json"), "utf8")) as {
      tokens: { account: string };
    };
    const token = demo.tokens.account;
    const works = async () => (await service.send("GET", "/api/v1/account", { token })).status;
    assert.equal(await works(), 200);
    await rotateWhileItRuns(service, env, token);
    const [, accountId, tokenId] = token.split("_");
    await runIn(env, "token", "revoke", tokenId!, "--account", accountId!);
    await eventually(async () => (await works()) === 401);
    assert.equal((await runIn(env, "doctor")).code, 0);
    service.kill("SIGTERM");
    await service.ended();
    const alone = await runIn(env, "account", "list", "--json");
    assert.equal(
      alone.code,
      0,
      "without the server it starts the database and stops it afterwards",
    );
    assert.equal(alone.json.data[0].name, "Demo");
  } finally {
    await service.dispose();
  }
});

test("the program prints what it has to say where it belongs, and ends with the exit code", async () => {
  const env = { DATABASE_URL: api.database_url };
  const [code, stdout, stderr] = await runProgram(env, "account", "list", "--json");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(JSON.parse(stdout), await done("account", "list"));
  assert.deepEqual(await runProgram(env, "user", "list", "--account", "999999"), [
    1,
    "",
    "Account 999999 does not exist\n",
  ]);
  const [invalid, nothing, reason] = await runProgram(env, "frobnicate");
  assert.deepEqual([invalid, nothing], [2, ""]);
  assert.match(reason, /unknown command "frobnicate"/);
});

test("the command line closes all its database connections", async () => {
  await done("account", "list");
  const client = new pg.Client({ connectionString: api.database_url });
  await client.connect();
  await eventually(async () => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from pg_stat_activity where application_name = 'trunkline-cli' and datname = current_database()",
    );
    return rows[0]!.count === 0;
  });
  await client.end();
});

test("distribute refuses a PostgreSQL without Citus, says what it is for, and changes nothing", async () => {
  for (const args of [[], ["--dry-run"]]) {
    const { code, stderr } = await run("distribute", args);
    assert.equal(code, 1);
    assert.match(stderr, /does not have Citus.*docs\/guides\/distributed\.md/);
  }
  const { code, stderr } = await run("distribute", "--shards", "0");
  assert.equal(code, 2);
  assert.match(stderr, /--shards must be a whole number from 1 to 1024/);
});
