// Voice files, menus and AI agents over HTTP, and the job that decodes or synthesizes their audio.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { SpeechError, type SpeechDriver } from "../../drivers/speech/driver.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { bytes_per_ms } from "../../lib/audio/audio.ts";
import { encodeWav } from "../../lib/audio/wav.ts";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import {
  startApi,
  type Answer,
  type RequestOptions,
  type TestApi,
} from "../../../test/support/api.ts";
import { makeAgentGroup, makeExtension } from "../../../test/support/telephony-factory.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { tone, toneSpeech } from "../../../test/support/tone-speech.ts";
import { createVoiceFile } from "./create-voice-file.ts";
import { decodeFile } from "./decode-file.ts";
import type { MenuGraph } from "../menus/menu-schema.ts";
import { snapshotMenu } from "../menus/snapshot-menu.ts";

let api: TestApi;
let account: TestAccount;
let other: TestAccount;
let otherMenu: number;
/** `starting`: one more text fails. */
let tts: "available" | "unavailable" | "starting" = "available";

const speech: SpeechDriver = {
  ...toneSpeech,
  synthesize(utterance) {
    const failure = new SpeechError("failed", "unavailable");
    if (tts === "unavailable") return Promise.reject(failure);
    if (tts === "starting") {
      tts = "available";
      return Promise.reject(failure);
    }
    if (utterance.text === "poison") return Promise.reject(new SpeechError("failed", "it crashed"));
    if (utterance.language === "xx") return Promise.reject(new SpeechError("rejected", "no voice"));
    return toneSpeech.synthesize(utterance);
  },
};
const say = { say: "Hello" };
const small = { start: "bye", nodes: { bye: { type: "hang_up", prompt: say } } };

before(async () => {
  api = await startApi({ speech, aiAgentDrivers: {} });
  account = await makeAccount(api.app);
  other = await makeAccount(api.app);
  const made = await send("POST", "menus", { token: other.token, json: { name: "m", ...small } });
  otherMenu = made.body.id as number;
});
after(() => api.close());

function send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  return api.send(method, `/api/v1/voice/${path}`, { token: account.token, ...options });
}

async function make(path: string, json: unknown): Promise<number> {
  const answer = await send("POST", path, { json });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id as number;
}

/** Asserts a 422 and returns its violations as `field: reason`. */
async function refuse(method: string, path: string, options: RequestOptions): Promise<string[]> {
  const answer = await send(method, path, options);
  assertProblem(answer, 422, "validation-failed");
  const { errors } = answer.body as { errors: { field: string; reason: string }[] };
  return errors.map(({ field, reason }) => `${field}: ${reason}`).toSorted();
}

function formOf(file: Buffer | null, fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (file) form.set("file", new Blob([new Uint8Array(file)]), "voice.wav");
  return form;
}

/** Runs every due job. */
async function work(): Promise<void> {
  const { signal } = new AbortController();
  while ((await workJobs(api.app, { "voice.decode_file": decodeFile }, signal)) > 0);
}

async function statusOf(id: number): Promise<unknown[]> {
  const { body } = await send("GET", `files/${id}`);
  return [body.status, body.reason, body.format, body.duration_ms];
}

test("an uploaded file is processing, then ready with the audio that calls play; repeating the upload with one idempotency key creates one file", async () => {
  const raw = () => formOf(encodeWav(tone(500)), { name: "Welcome", opt_out_key: "9", script: "" });
  const headers = { "idempotency-key": "upload" };
  const created = await send("POST", "files", { raw: raw(), headers });
  assert.equal(created.status, 201, created.text);
  const { id, created_at, updated_at, created_by, ...rest } = created.body;
  assert.deepEqual([created_by, updated_at], [account.owner_id, created_at]);
  assert.deepEqual(rest, {
    name: "Welcome",
    status: "processing",
    reason: null,
    format: null,
    duration_ms: null,
    text: null,
    language: "en",
    script: null,
    menu_id: null,
    ai_agent_id: null,
    opt_out_key: "9",
    answering_machine: "off",
    active: true,
  });
  const again = await send("POST", "files", { raw: raw(), headers });
  assert.deepEqual([again.text, again.headers.get("idempotency-replayed")], [created.text, "true"]);
  assertProblem(await send("GET", `files/${id}/audio`), 404, "not-found");
  await work();
  assert.deepEqual(await statusOf(id), ["ready", null, "wav", 500]);
  const audio = await api.server.inject({
    url: `/api/v1/voice/files/${id}/audio`,
    headers: { authorization: `Bearer ${account.token}` },
  });
  assert.equal(audio.headers["content-type"], "audio/wav");
  assert.deepEqual(audio.rawPayload, encodeWav(tone(500)));
  const { upload } = await api.app.db.query
    .selectFrom("voice_files")
    .select("upload")
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  assert.equal(upload, null);
});

test("a file without audio is rejected with the reason; a text is synthesized as soon as TTS is available", async () => {
  const noise = await send("POST", "files", {
    raw: formOf(Buffer.from("no sound"), { name: "x" }),
  });
  const rejected = await make("files", { name: "x", text: "Hello", language: "xx" });
  tts = "unavailable";
  const text = await make("files", { name: "x", text: "Hello" });
  await work();
  assert.deepEqual(await statusOf(noise.body.id as number), [
    "rejected",
    "the file must be WAV, MP3 or Ogg (Opus, Vorbis)",
    null,
    null,
  ]);
  assert.equal((await statusOf(text))[0], "processing");
  tts = "available";
  // The job is retried after a delay.
  api.clock.advance(600_000);
  await work();
  assert.deepEqual(await statusOf(text), ["ready", null, null, 5 * 20]);
  assert.deepEqual(await statusOf(rejected), ["rejected", "no voice", null, null]);
  const { rows } = await api.app.db.pool.query<{ bytes: number }>(
    `select length(c.samples) as bytes from voice_files f
     join voice_audio c on c.account_id = f.account_id and c.name = f.audio_name
     where f.account_id = $1 and f.id = $2`,
    [account.account_id, text],
  );
  assert.deepEqual(rows, [{ bytes: 100 * bytes_per_ms }]);
});

test("a text that TTS fails to synthesize five times is rejected if others can be synthesized, and waits if none can", async () => {
  const poison = await make("files", { name: "x", text: "poison" });
  const attempt = async (count: number) => {
    for (let i = 0; i < count; i++) {
      api.clock.advance(600_000);
      await work();
    }
  };
  await attempt(4);
  assert.equal((await statusOf(poison))[0], "processing");
  await attempt(1);
  assert.deepEqual(await statusOf(poison), [
    "rejected",
    "the text could not be synthesized",
    null,
    null,
  ]);
  tts = "unavailable";
  const waiting = await make("files", { name: "x", text: "Hello during an outage" });
  await attempt(6);
  assert.equal((await statusOf(waiting))[0], "processing");
  tts = "starting";
  await attempt(2);
  assert.equal((await statusOf(waiting))[0], "ready");
});

test("reports every violation of a voice file at once, in JSON and in a form, and treats another account's ids as unknown", async () => {
  const bad = {
    text: "Hi {{name}}",
    script: "Hi {{name",
    menu_id: otherMenu,
    ai_agent_id: 8_000_000_000_000_001,
    opt_out_key: "19",
    answering_machine: "shout",
    language: "English!",
    voice: "x",
  };
  const shared = [
    "ai_agent_id: is not an AI agent of this account",
    "answering_machine: must be one of off, play, hang_up, retry",
    "language: must be a language such as en, hi or en-IN",
    "menu_id: is not a menu of this account",
    "name: is required",
    "opt_out_key: must be one of 0-9, * and #",
    "script: must close every {{ with }}",
  ];
  assert.deepEqual(await refuse("POST", "files", { json: bad }), [
    ...shared,
    "text: must not contain {{variables}}; use script for text that differs by recipient",
    "voice: unknown field",
  ]);
  const { text: _, voice: __, ...settings } = bad;
  const fields = Object.fromEntries(Object.entries(settings).map(([k, v]) => [k, String(v)]));
  assert.deepEqual(
    await refuse("POST", "files", { raw: formOf(null, fields) }),
    [...shared, "file: is required"].toSorted(),
  );
  assert.match((await refuse("POST", "files", { json: { name: "x" } }))[0]!, /^text: is required/);
  const id = await make("files", { name: "x", script: "Hi {{name}}" });
  assert.deepEqual(await statusOf(id), ["ready", null, null, null]);
  assert.deepEqual(
    await refuse("PATCH", `files/${id}`, { json: { menu_id: otherMenu, text: "x" } }),
    ["menu_id: is not a menu of this account", "text: unknown field"],
  );
});

test("a menu, AI agent or voice file in use cannot be deleted; an archived voice file cannot be changed and is not listed", async () => {
  const menu_id = await make("menus", { name: "kept", ...small });
  const ai_agent_id = await make("agents", { name: "kept", greeting: "Hello" });
  const file = await make("files", { name: "user", text: "Hello", menu_id, ai_agent_id });
  for (const path of [`menus/${menu_id}`, `agents/${ai_agent_id}`]) {
    assertProblem(await send("DELETE", path), 409, "conflict");
  }
  const nodes = { bye: { type: "hang_up", prompt: { voice_file_id: file } } };
  const player = await make("menus", { name: "player", start: "bye", nodes });
  assertProblem(await send("DELETE", `files/${file}`), 409, "conflict");
  assert.equal((await send("DELETE", `menus/${player}`)).status, 204);
  assert.equal((await send("DELETE", `files/${file}`)).status, 204);
  assert.equal((await send("GET", `files/${file}`)).body.active, false);
  const listed = await send("GET", "files?limit=200");
  assert.ok(listed.body.data.every(({ id }: { id: number }) => id !== file));
  assertProblem(await send("DELETE", `files/${file}`), 409, "conflict");
  assertProblem(await send("PATCH", `files/${file}`, { json: { name: "y" } }), 409, "conflict");
  for (const path of [`menus/${menu_id}`, `agents/${ai_agent_id}`]) {
    assert.equal((await send("DELETE", path)).status, 204);
  }
});

test("a menu is stored with its defaults and replaced as a whole, and its snapshot contains the current audio of its files", async () => {
  const group = await makeAgentGroup(api.app, account);
  await makeExtension(api.app, account, "321");
  const file = await make("files", { name: "prompt", text: "Press one" });
  const nodes = {
    main: { type: "menu", prompt: { voice_file_id: file }, keys: { "1": "pin" }, otherwise: "a" },
    pin: { type: "capture", prompt: say, variable: "pin", next: "voice", otherwise: "b" },
    voice: { type: "record", prompt: say, next: "bye" },
    a: { type: "transfer", to: { extension: "321" }, otherwise: "b" },
    b: { type: "transfer", to: { agent_group_id: group }, otherwise: "bye" },
    bye: { type: "hang_up" },
  };
  const id = await make("menus", { name: "whole", start: "main", nodes });
  const { body } = await send("GET", `menus/${id}`);
  const ask = { invalid_prompt: null, timeout_seconds: 5, tries: 3 };
  const prompt = { say: "Hello", language: "en" };
  assert.deepEqual(body.nodes, {
    ...nodes,
    main: { ...nodes.main, ...ask },
    pin: { ...nodes.pin, ...ask, prompt, min_digits: 1, max_digits: 20 },
    voice: { ...nodes.voice, prompt, max_seconds: 60, silence_seconds: 5 },
    a: { ...nodes.a, prompt: null },
    b: { ...nodes.b, prompt: null },
    bye: { type: "hang_up", prompt: null },
  });
  const graph = { start: "main", nodes: body.nodes } as MenuGraph;
  const snapshot = () => snapshotMenu(api.app.db.query, account.account_id, graph);
  await assert.rejects(snapshot(), { name: "Refusal", message: /^voice_file_id: .*is not ready$/ });
  await work();
  const { audio_name } = await api.app.db.query
    .selectFrom("voice_files")
    .select("audio_name")
    .where("account_id", "=", account.account_id)
    .where("id", "=", file)
    .executeTakeFirstOrThrow();
  assert.deepEqual((await snapshot()).nodes["main"], {
    ...body.nodes.main,
    prompt: { audio: { name: audio_name, duration_ms: 180 } },
  });
  const path = `menus/${id}`;
  assert.deepEqual(await refuse("PATCH", path, { json: { start: "gone" } }), [
    "start: must be a node of this menu",
  ]);
  assert.deepEqual(
    await refuse("PATCH", path, { json: { start: "bye" } }),
    ["a", "b", "main", "pin", "voice"].map((name) => `nodes.${name}: must be reachable from start`),
  );
  const changed = await send("PATCH", path, { json: { name: "small", ...small } });
  assert.deepEqual([changed.body.name, changed.body.start], ["small", "bye"]);
});

test("refuses a voice file without audio as a prompt of a new menu, and of a stored menu at a launch and an incoming call", async () => {
  const { app } = api;
  const { account_id } = account;
  const file = await make("files", { name: "script", script: "Hi {{name}}" });
  assert.deepEqual(await statusOf(file), ["ready", null, null, null]);
  const prompt = { voice_file_id: file };
  const nodes = {
    main: { type: "menu", prompt, invalid_prompt: prompt, keys: { "1": "bye" }, otherwise: "bye" },
    bye: { type: "hang_up" },
  };
  const reason = "is not a voice file of this account with audio";
  assert.deepEqual(
    await refuse("POST", "menus", { json: { name: "silent", start: "main", nodes } }),
    [
      `nodes.main.invalid_prompt.voice_file_id: ${reason}`,
      `nodes.main.prompt.voice_file_id: ${reason}`,
    ],
  );
  const graph = { start: "bye", nodes: { bye: { type: "hang_up", prompt } } } as const;
  await assert.rejects(snapshotMenu(app.db.query, account_id, graph), {
    name: "Refusal",
    message: new RegExp(`voice file ${file} has no audio or is not ready$`),
  });
  const { rows } = await app.db.pool.query("select menu_content($1, $2) as content", [
    account_id,
    JSON.stringify(graph),
  ]);
  assert.deepEqual(rows, [{ content: null }]);
});

test("reports every violation of a menu at once with its path: shape, graph and references outside the account", async () => {
  await make("menus", { name: "taken", ...small });
  const nodes = {
    main: { type: "menu", prompt: { voice_file_id: 1e15 }, keys: { "3": "gone" }, otherwise: "t" },
    t: { type: "transfer", to: { extension: "999", agent_group_id: null }, otherwise: "u" },
    u: { type: "transfer", to: { agent_group_id: 8_000_000_000_000_001 }, otherwise: "f" },
    f: { type: "set_field", value: 7, next: "x", nxt: "x" },
    x: { type: "dance" },
  };
  assert.deepEqual(await refuse("POST", "menus", { json: { start: "main", nodes } }), [
    "name: is required",
    "nodes.f.field: is required",
    "nodes.f.nxt: unknown field; did you mean next?",
    "nodes.f.value: must be text of at most 500 characters, not blank, as a string",
    "nodes.main.keys.3: must be a node of this menu",
    "nodes.main.prompt.voice_file_id: is not a voice file of this account with audio",
    "nodes.t.to.extension: is not an extension of this account",
    "nodes.u.to.agent_group_id: is not an agent group of this account",
    "nodes.x.type: must be one of play, menu, capture, record, transfer, callback, opt_out, set_field, hang_up",
  ]);
  assert.deepEqual(await refuse("POST", "menus", { json: { name: "taken", ...small } }), [
    "name: is already the name of a menu",
  ]);
});

test("a name that another AI agent has is refused on creation and on change", async () => {
  await make("agents", { name: "taken agent", greeting: "Hello" });
  const second = await make("agents", { name: "other agent", greeting: "Hello" });
  const json = { name: "taken agent", greeting: "Hello" };
  const reasons = ["name: is already the name of an AI agent"];
  assert.deepEqual(await refuse("POST", "agents", { json }), reasons);
  assert.deepEqual(await refuse("PATCH", `agents/${second}`, { json }), reasons);
});

test("an AI agent has defaults, and every violation of its body is reported at once", async () => {
  const id = await make("agents", { name: "plain", greeting: "Hello {{name|there}}" });
  const { body } = await send("GET", `agents/${id}`);
  const { created_at, updated_at, ...rest } = body;
  assert.equal(created_at, updated_at);
  assert.deepEqual(rest, {
    id,
    name: "plain",
    driver: "scripted",
    language: "en",
    greeting: "Hello {{name|there}}",
    instructions: null,
    model: null,
    voice: null,
    rules: [],
    fallback: "Sorry, I did not understand that.",
    closing: "Thank you. Goodbye.",
    fields: [],
    transfer_to: null,
    silence_seconds: 10,
    max_seconds: 600,
    rehearsals: [],
  });
  const json = {
    driver: "realtime",
    greeting: "Hi {{",
    silence_seconds: 1,
    fields: [
      { key: "city", question: "Where?" },
      { key: "city", question: "{{" },
    ],
    rules: [
      // oxlint-disable-next-line unicorn/no-thenable -- a property of the plan, not a function
      { say: "x", then: "transfer", set: { field: "name", value: "x" } },
      { keys: "A", say: " " },
    ],
    transfer_to: { extension: "999", agent_group_id: 8_000_000_000_000_001 },
  };
  assert.deepEqual(await refuse("POST", "agents", { json }), [
    "driver: must be scripted: no realtime server is configured",
    "fields.1.key: must be unique",
    "fields.1.question: must close every {{ with }}",
    "greeting: must close every {{ with }}",
    "name: is required",
    "rules.0.keys: is required without keywords",
    "rules.0.set.field: must be the key of one of fields",
    "rules.1.keys: must be at most 12 of 0-9, * and #",
    "rules.1.say: must be text of at most 2000 characters, not blank",
    "silence_seconds: must be at least 3",
    "transfer_to.agent_group_id: is not an agent group of this account",
    "transfer_to.extension: is not an extension of this account",
    "transfer_to: must have either extension or agent_group_id",
  ]);
  // oxlint-disable-next-line unicorn/no-thenable -- a property of the plan, not a function
  const rules = [{ keys: "1", say: "One moment", then: "transfer" }];
  assert.deepEqual(await refuse("PATCH", `agents/${id}`, { json: { rules } }), [
    "rules.0.then: must not be transfer without transfer_to",
  ]);
  const agent_group_id = await makeAgentGroup(api.app, account);
  const patch = { rules, transfer_to: { agent_group_id } };
  assert.equal((await send("PATCH", `agents/${id}`, { json: patch })).status, 200);
  const { plan, transfer_to } = await api.app.db.query
    .selectFrom("voice_ai_agents")
    .select(["plan", "transfer_to"])
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  assert.deepEqual(transfer_to, { agent_group_id });
  assert.equal((plan as { may_transfer: boolean }).may_transfer, true);
  assert.deepEqual(await refuse("PATCH", `agents/${id}`, { json: { transfer_to: null } }), [
    "rules.0.then: must not be transfer without transfer_to",
  ]);
});

test("an upload, a text or an import beyond the account's storage quota is refused on its field, other accounts are not affected, and the account shows its use", async () => {
  const own = await makeAccount(api.app);
  const { token } = own;
  const limit = (megabytes: number) =>
    api.app.db.pool.query("update accounts set storage_megabytes = $2 where account_id = $1", [
      own.account_id,
      megabytes,
    ]);
  const storage = async () =>
    (await api.send("GET", "/api/v1/account", { token })).body.storage as Record<string, number>;
  // 62.5 s of audio take a megabyte.
  const raw = () => formOf(encodeWav(tone(62_000)), { name: unique("long") });
  assert.equal((await send("POST", "files", { token, raw: raw() })).status, 201);
  assert.ok((await storage())["used_bytes"]! > 990_000, "an upload counts before it is decoded");
  await work();
  assert.deepEqual(await storage(), { used_bytes: 992_000, megabytes_max: 50_000 });

  await limit(1);
  const full = "does not fit into the account's storage quota: 1 MB of 1 MB are used";
  assert.deepEqual(await refuse("POST", "files", { token, raw: raw() }), [`file: ${full}`]);
  const json = () => ({ name: unique("text"), text: "Hello" });
  assert.deepEqual(await refuse("POST", "files", { token, json: json() }), [`text: ${full}`]);
  const leads = new FormData();
  leads.set("columnMap", '{"phone":"phone"}');
  leads.set("file", new Blob([`phone\n${"9876543211\n".repeat(1_000)}`]), "leads.csv");
  const path = `/api/v1/crm/workspaces/${own.workspace_id}/leads/import`;
  const refused = await api.send("POST", path, { token, raw: leads });
  assertProblem(refused, 422, "validation-failed");
  assert.deepEqual(refused.body.errors, [{ field: "file", reason: full }]);
  assert.equal((await send("POST", "files", { token: other.token, json: json() })).status, 201);

  await limit(2);
  assert.equal((await send("POST", "files", { token, json: json() })).status, 201);
  assert.equal((await api.send("POST", path, { token, raw: leads })).status, 202);
  assert.equal((await storage())["used_bytes"], 992_000 + 6 + 11_000);
});

test("a voice file waits for one that is being stored, and is refused if both exceed the storage quota", async () => {
  const { account_id, owner_id, token } = await makeAccount(api.app);
  const accounts = api.app.db.query.updateTable("accounts").where("account_id", "=", account_id);
  await accounts.set({ storage_megabytes: 1 }).execute();
  const upload = () => formOf(encodeWav(tone(40_000)), { name: unique("own") });
  let answer: Promise<Answer>;
  await api.app.db.query.transaction().execute(async (tx) => {
    const actor = { account_id, user_id: owner_id, token_id: null, request_id: unique("request") };
    const first = { body: { name: unique("first") }, upload: encodeWav(tone(40_000)) };
    await createVoiceFile(tx, actor, first, api.app.clock.now());
    answer = send("POST", "files", { token, raw: upload() });
    await awaitsLock(api.app.db.query);
  });
  assertProblem(await answer!, 422, "validation-failed");
});

test("a text is synthesized with a row's values and not stored, and what it lacks is named", async () => {
  const preview = (json: unknown) => send("POST", "speech/preview", { json });
  const audio = async () =>
    (await api.app.db.pool.query("select count(*) from voice_audio")).rows as unknown[];
  const stored = await audio();
  const text = "Hello {{name}}, from {{city|here}}";
  const answer = await preview({ text, variables: { name: "Ada" } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "audio/wav");
  assert.ok(answer.text.startsWith("RIFF"));
  assert.deepEqual(await audio(), stored);
  assert.deepEqual(await refuse("POST", "speech/preview", { json: { text } }), [
    "variables.name: is required, because the text has no default",
  ]);
  assert.deepEqual(await refuse("POST", "speech/preview", { json: { text: "Hello {{name" } }), [
    "text: must close every {{ with }}",
  ]);
  const language = "xx";
  assert.deepEqual(await refuse("POST", "speech/preview", { json: { text: "a", language } }), [
    "text: no voice",
  ]);
  tts = "unavailable";
  assert.equal((await preview({ text: "Hello" })).status, 503);
  tts = "available";
});
