import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { operatorOf } from "../roles/grantor.ts";
import type { AccountLimits } from "./account-limits-schema.ts";
import { mayCallAt } from "./calling-window.ts";
import { lockUnfrozen } from "./is-frozen.ts";
import { setAccountLimits } from "./set-account-limits.ts";
import { makeChatNumber, makeChatTemplate } from "../../../test/support/chat-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeFullVoiceFile } from "../../../test/support/voice-file-factory.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const patch = (json: unknown, token = account.token) =>
  api.send("PATCH", "/api/v1/account", { token, json });

const default_caps = {
  account: {
    legs_hour: 60_000,
    legs_day: 500_000,
    credits_hour: 120_000,
    credits_day: 1_000_000,
  },
  token: { legs_hour: 40_000, legs_day: 300_000, credits_hour: 80_000, credits_day: 600_000 },
  number: { legs_hour: 60, legs_day: 500, credits_hour: 1_000, credits_day: 3_000 },
};

test("an account reads itself and nothing else", async () => {
  const other = await makeAccount(api.app, { features: ["crm"] });
  const { status, body } = await api.send("GET", "/api/v1/account", { token: other.token });
  assert.equal(status, 200);
  assert.deepEqual(body, {
    id: other.account_id,
    name: body.name,
    features: ["crm"],
    country_code: "91",
    time_zone: "UTC",
    region_locked: false,
    requests: { a_minute: 2_000_000, of_token_a_minute: 1_000_000 },
    chat: {
      writes_a_minute: 300,
      valid_numbers_only: false,
      stop_words: [],
      stop_scope: "all",
      quiet_from: null,
      quiet_to: null,
      error_percent: 20,
    },
    calls: {
      pulse_seconds: 60,
      night_calling: false,
      calling_from: "09:00",
      calling_to: "21:00",
      calling_hours_allowed: null,
      recorded: true,
      agent_ring_seconds: 30,
      customer_ring_seconds: 45,
      talk_minutes_max: 240,
      accept_voice_file_id: null,
      busy_voice_file_id: null,
      destinations_allowed: ["IN"],
      destinations: null,
      caps: default_caps,
      calls_per_customer_day: 7,
      notice: null,
    },
    credits: { chat_low: 100, call_low: 100 },
    retention: {
      messages_days: null,
      calls_days: null,
      recordings_days: null,
      events_days: 30,
      idempotency_keys_days: null,
      audit_days: null,
      ledger_days: null,
    },
    storage: { used_bytes: 0, megabytes_max: 50_000 },
  });
});

test("changed settings apply to the next request and are audited without their values", async () => {
  const own = await makeAccount(api.app);
  const settings = { name: "Renamed", country_code: "44", time_zone: "Asia/Kolkata" };
  const { status, body } = await patch(settings, own.token);
  assert.equal(status, 200);
  assert.deepEqual({ ...body, ...settings }, body);
  const workspace = `/api/v1/crm/workspaces/${own.workspace_id}`;
  await api.send("POST", `${workspace}/leads/create`, {
    token: own.token,
    json: { phone: "9876543210" },
  });
  const lead = await api.app.db.query
    .selectFrom("leads")
    .select("phone_e164")
    .where("account_id", "=", own.account_id)
    .executeTakeFirstOrThrow();
  assert.equal(lead.phone_e164, "+449876543210");
  const audit = await api.send("GET", "/api/v1/audit?action=account.updated", { token: own.token });
  assert.equal(audit.body.data.length, 1);
  assert.deepEqual(audit.body.data[0].detail, { changed: ["name", "country_code", "time_zone"] });
});

test("refuses another country code while the account has contacts, and nothing else", async () => {
  const own = await makeAccount(api.app);
  assert.equal((await patch({ country_code: "44" }, own.token)).status, 200);
  await api.send("POST", `/api/v1/crm/workspaces/${own.workspace_id}/leads/create`, {
    token: own.token,
    json: { phone: "9876543210" },
  });
  const refused = await patch({ name: "Renamed", country_code: "91" }, own.token);
  assert.equal(refused.status, 422);
  assert.deepEqual(refused.body.errors, [
    {
      field: "country_code",
      reason: "must stay 44 while the account has contacts, whose ten digits are numbers of +44",
    },
  ]);
  const { status, body } = await patch({ name: "Renamed", country_code: "44" }, own.token);
  assert.deepEqual([status, body.name, body.country_code], [200, "Renamed", "44"]);
});

test("a campaign or file that is being written does not delay a change of the settings", async () => {
  const { account_id, token } = await makeAccount(api.app);
  await api.app.db.query.transaction().execute(async (tx) => {
    await lockUnfrozen(tx, account_id);
    assert.equal(
      (await patch({ chat: { quiet_from: "21:00", quiet_to: "09:00" } }, token)).status,
      200,
    );
  });
});

test("chat settings change field by field, apply to the next request and are audited by name", async () => {
  const own = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const first = {
    valid_numbers_only: true,
    stop_words: [" Stop ", "BASTA", "stop", "no more"],
    quiet_from: "22:00",
    quiet_to: "07:30",
  };
  const changed = await patch({ chat: first }, own.token);
  assert.equal(changed.status, 200, changed.text);
  const settings = {
    writes_a_minute: 300,
    ...first,
    stop_words: ["Stop", "BASTA", "no more"],
    stop_scope: "all",
    error_percent: 20,
  };
  assert.deepEqual(changed.body.chat, settings);
  assert.equal((await api.app.tokens.find(own.token))!.account.chat_valid_numbers_only, true);
  assert.equal((await api.app.tokens.find(other.token))!.account.chat_valid_numbers_only, false);
  const next = await patch(
    { chat: { quiet_from: null, quiet_to: null, error_percent: 100, stop_words: [] } },
    own.token,
  );
  assert.deepEqual(next.body.chat, {
    ...settings,
    quiet_from: null,
    quiet_to: null,
    error_percent: 100,
    stop_words: [],
  });
  const others = await api.send("GET", "/api/v1/account", { token: other.token });
  assert.equal(others.body.chat.error_percent, 20);
  const audit = await api.send("GET", "/api/v1/audit?action=account.updated", { token: own.token });
  assert.deepEqual(
    audit.body.data.map(({ detail }: { detail: { changed: string[] } }) => detail.changed),
    [
      ["chat.quiet_from", "chat.quiet_to", "chat.error_percent", "chat.stop_words"],
      ["chat.valid_numbers_only", "chat.stop_words", "chat.quiet_from", "chat.quiet_to"],
    ],
  );
});

test("reports every invalid chat setting by field and changes nothing", async () => {
  const together = (other: string) => `must be set, or null, together with ${other}`;
  const not_a_time = "must be a time of day such as 21:00, or null";
  const not_a_word = "must have 1 to 64 characters and not be blank";
  for (const [chat, field, reason] of [
    [{}, "chat", "must contain at least one field"],
    [null, "chat", "must be an object"],
    [{ writes_a_minute: 5 }, "chat.writes_a_minute", "unknown field"],
    [{ valid_numbers_only: 1 }, "chat.valid_numbers_only", "must be a boolean"],
    [{ stop_words: ["a", " "] }, "chat.stop_words.1", not_a_word],
    [{ stop_words: ["x".repeat(65)] }, "chat.stop_words.0", not_a_word],
    [{ stop_words: Array(51).fill("a") }, "chat.stop_words", "must have at most 50 entries"],
    [{ quiet_from: "24:00", quiet_to: "08:00" }, "chat.quiet_from", not_a_time],
    [{ quiet_from: "22:00", quiet_to: "8:00" }, "chat.quiet_to", not_a_time],
    [{ quiet_from: "22:00" }, "chat.quiet_to", together("quiet_from")],
    [{ quiet_to: "22:00" }, "chat.quiet_from", together("quiet_to")],
    [{ quiet_from: null }, "chat.quiet_to", together("quiet_from")],
    [{ quiet_from: "22:00", quiet_to: null }, "chat.quiet_to", together("quiet_from")],
    [{ quiet_from: null, quiet_to: "22:00" }, "chat.quiet_from", together("quiet_to")],
    [
      { quiet_from: "22:00", quiet_to: "22:00" },
      "chat.quiet_to",
      "must not be the same as quiet_from",
    ],
    [{ error_percent: 0 }, "chat.error_percent", "must be at least 1"],
    [{ error_percent: 101 }, "chat.error_percent", "must be at most 100"],
  ] as const) {
    const { status, body } = await patch({ chat, name: "Must not be stored" });
    assert.equal(status, 422, JSON.stringify(chat));
    assert.deepEqual(body.errors, [{ field, reason }], JSON.stringify(chat));
  }
  const { body } = await api.send("GET", "/api/v1/account", { token: account.token });
  assert.notEqual(body.name, "Must not be stored");
});

test("retention periods are 1 to 3650 days or unlimited, change field by field and are audited by name", async () => {
  const own = await makeAccount(api.app);
  const changed = await patch({ retention: { calls_days: 3_650, events_days: null } }, own.token);
  assert.equal(changed.status, 200, changed.text);
  const kept = {
    messages_days: null,
    calls_days: 3_650,
    recordings_days: null,
    events_days: null,
    idempotency_keys_days: null,
    audit_days: null,
    ledger_days: null,
  };
  assert.deepEqual(changed.body.retention, kept);
  const next = await patch({ retention: { recordings_days: 1 } }, own.token);
  assert.deepEqual(next.body.retention, { ...kept, recordings_days: 1 });
  for (const days of [0, 3_651, 1.5, "30"]) {
    const refused = await patch({ retention: { messages_days: days, hours: 1 } }, own.token);
    assert.equal(refused.status, 422, refused.text);
    const fields = refused.body.errors.map(({ field }: { field: string }) => field);
    assert.deepEqual(fields.toSorted(), ["retention.hours", "retention.messages_days"]);
  }
  // Otherwise the traces of a change could be deleted at once.
  const short = await patch({ retention: { audit_days: 364 } }, own.token);
  assert.equal(short.status, 422);
  assert.equal(short.body.errors[0].reason, "must be 365 to 3650 days, or null for no limit");
  const audit = await api.send("GET", "/api/v1/audit?action=account.updated", { token: own.token });
  assert.deepEqual(
    audit.body.data.map(({ detail }: { detail: { changed: string[] } }) => detail.changed),
    [["retention.recordings_days"], ["retention.calls_days", "retention.events_days"]],
  );
});

test("call settings are changed field by field, and are audited by name", async () => {
  const own = await makeAccount(api.app);
  const number = await makeChatNumber(api.app, own);
  const template_id = await makeChatTemplate(api.app, own, number);
  const settings = {
    night_calling: true,
    calling_from: "00:00",
    calling_to: "24:00",
    recorded: false,
    agent_ring_seconds: 5,
    customer_ring_seconds: 120,
    talk_minutes_max: 30,
    accept_voice_file_id: await makeFullVoiceFile(api.app, own),
    busy_voice_file_id: await makeFullVoiceFile(api.app, own),
    calls_per_customer_day: 3,
    destinations: ["IN"],
    notice: { chat_number_id: number.id, template_id },
  };
  const changed = await patch({ calls: settings }, own.token);
  assert.equal(changed.status, 200, changed.text);
  const fixed = {
    pulse_seconds: 60,
    destinations_allowed: ["IN"],
    caps: default_caps,
    calling_hours_allowed: null,
  };
  assert.deepEqual(changed.body.calls, { ...fixed, ...settings });
  const next = await patch({ calls: { notice: null } }, own.token);
  assert.deepEqual(next.body.calls, { ...fixed, ...settings, notice: null });
  const never = await patch({ calls: { calling_from: "09:00", calling_to: "09:00" } }, own.token);
  assert.deepEqual(
    [never.body.calls.calling_from, never.body.calls.calling_to],
    ["09:00", "09:00"],
  );
  const audit = await api.send("GET", "/api/v1/audit?action=account.updated", { token: own.token });
  assert.deepEqual(
    audit.body.data.map(({ detail }: { detail: { changed: string[] } }) => detail.changed),
    [
      ["calls.calling_from", "calls.calling_to"],
      ["calls.notice"],
      Object.keys(settings).map((field) => `calls.${field}`),
    ],
  );
});

test("reports every invalid call setting by field and changes nothing", async () => {
  const other = await makeAccount(api.app);
  const theirs = await makeChatNumber(api.app, other);
  const mine = await makeChatNumber(api.app, account);
  const template_id = await makeChatTemplate(api.app, account, mine);
  const notices = "calls.notice";
  for (const [calls, field, reason] of [
    [{}, "calls", "must contain at least one field"],
    [null, "calls", "must be an object"],
    [{ pulse_seconds: 30 }, "calls.pulse_seconds", "unknown field"],
    [{ night_calling: 1 }, "calls.night_calling", "must be a boolean"],
    [{ calling_from: "24:00" }, "calls.calling_from", "must be a time of day such as 09:00"],
    [{ calling_to: "24:01" }, "calls.calling_to", "must be a time of day such as 21:00, or 24:00"],
    [
      { calling_to: null },
      "calls.calling_to",
      "must be a time of day such as 21:00, or 24:00, as a string",
    ],
    [{ talk_minutes_max: 0 }, "calls.talk_minutes_max", "must be at least 1"],
    [
      { accept_voice_file_id: 999_999_999 },
      "calls.accept_voice_file_id",
      "must be an active voice file of this account with audio",
    ],
    [
      { busy_voice_file_id: await makeFullVoiceFile(api.app, other) },
      "calls.busy_voice_file_id",
      "must be an active voice file of this account with audio",
    ],
    [{ agent_ring_seconds: 4 }, "calls.agent_ring_seconds", "must be at least 5"],
    [{ customer_ring_seconds: 121 }, "calls.customer_ring_seconds", "must be at most 120"],
    [{ notice: { template_id } }, `${notices}.chat_number_id`, "is required"],
    [
      { notice: { chat_number_id: theirs.id, template_id } },
      `${notices}.chat_number_id`,
      "is not a chat number of this account",
    ],
    [
      { notice: { chat_number_id: mine.id, template_id: 2 ** 62 } },
      `${notices}.template_id`,
      "is not a template of this account",
    ],
  ] as const) {
    const { status, body } = await patch({ calls, name: "Must not be stored" });
    assert.equal(status, 422, JSON.stringify(calls));
    assert.deepEqual(body.errors, [{ field, reason }], JSON.stringify(calls));
  }
  const { body } = await api.send("GET", "/api/v1/account", { token: account.token });
  assert.notEqual(body.name, "Must not be stored");
});

test("the template of a chat notification must belong to its number", async () => {
  const sandbox = await makeChatNumber(api.app, account);
  const template_id = await makeChatTemplate(api.app, account, sandbox);
  const { id: chat_number_id } = await api.app.db.query
    .insertInto("chat_numbers")
    .values({
      account_id: account.account_id,
      name: "elsewhere",
      phone: "919000000001",
      driver: "whatsapp",
      provider_phone_number_id: "elsewhere",
      business_account_id: "elsewhere",
      created_at: new Date(),
      updated_at: new Date(),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const { status, body } = await patch({ calls: { notice: { chat_number_id, template_id } } });
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [
    { field: "calls.notice.template_id", reason: "does not belong to the chat number" },
  ]);
});

test("reports every invalid setting at once with its reason", async () => {
  const { status, body } = await patch({
    name: " ",
    country_code: "091",
    time_zone: "Asia/Nowhere",
    features: ["voice"],
  });
  assert.equal(status, 422);
  assert.deepEqual(
    body.errors.toSorted((a: { field: string }, b: { field: string }) =>
      a.field < b.field ? -1 : 1,
    ),
    [
      { field: "country_code", reason: "must be 1 to 3 digits and not begin with 0" },
      { field: "features", reason: "unknown field" },
      { field: "name", reason: "must have 1 to 255 characters and not be blank" },
      { field: "time_zone", reason: "must be an IANA time zone such as Asia/Kolkata" },
    ],
  );
});

test("refuses a change without fields or with null for a required field", async () => {
  assert.equal((await patch({})).status, 422);
  for (const field of ["name", "country_code", "time_zone"]) {
    const { status, body } = await patch({ [field]: null });
    assert.equal(status, 422);
    assert.equal(body.errors[0].field, field);
  }
});

test("settings are read with account.read and changed only with account.manage", async () => {
  const reader = await makeAgentToken(api.app, account, ["account.read"]);
  assert.equal((await api.send("GET", "/api/v1/account", { token: reader })).status, 200);
  assert.equal((await patch({ name: "Mine" }, reader)).status, 403);
  const scoped = await makeToken(api.app, account, { scopes: ["audit.read"] });
  assert.equal((await api.send("GET", "/api/v1/account", { token: scoped })).status, 403);
  assert.equal((await api.send("GET", "/api/v1/account")).status, 401);
});

test("an account's calling hours, country and time zone stay within what its operator allows", async () => {
  const own = await makeAccount(api.app);
  const limit = (limits: AccountLimits) =>
    api.app.db.query
      .transaction()
      .execute((tx) =>
        setAccountLimits(tx, operatorOf(own.account_id, "req").actor, limits, api.clock.now()),
      );
  const change = async (json: object) => {
    const { status, body } = await api.send("PATCH", "/api/v1/account", { token: own.token, json });
    return status === 200 ? "changed" : body.errors.map(({ field }: { field: string }) => field);
  };
  const night = { night_calling: true, calling_from: "22:00", calling_to: "06:00" };
  assert.equal(await change({ calls: night }), "changed");
  const { calls } = await limit({ calling_hours_allowed: "08:00-21:00" });
  assert.deepEqual(
    [calls.night_calling, calls.calling_from, calls.calling_to],
    [false, "08:00", "21:00"],
  );
  assert.deepEqual(await change({ calls: { night_calling: true } }), ["calls.night_calling"]);
  assert.deepEqual(await change({ calls: { calling_to: "21:01" } }), ["calls.calling_to"]);
  assert.deepEqual(await change({ calls: { calling_from: "20:00", calling_to: "09:00" } }), [
    "calls.calling_from",
    "calls.calling_to",
  ]);
  assert.deepEqual(await change({ time_zone: "America/New_York", country_code: "1" }), [
    "time_zone",
  ]);
  assert.equal(await change({ calls: { calling_from: "09:30", calling_to: "20:00" } }), "changed");
  await limit({ calling_hours_allowed: null, region_locked: true });
  assert.equal(await change({ calls: night }), "changed");
  const region = { time_zone: "America/New_York", country_code: "1" };
  assert.deepEqual(await change(region), ["country_code", "time_zone"]);
  const same = (await api.send("GET", "/api/v1/account", { token: own.token })).body;
  const { time_zone, country_code } = same;
  assert.equal(await change({ name: "Renamed", time_zone, country_code }), "changed");
  await limit({ region_locked: false });
  assert.equal(await change(region), "changed");
  await assert.rejects(limit({ calling_hours_allowed: "21:00-08:00" }), /must end after/);
});

test("an operator's calling hours open no time at which the account does not call", async () => {
  const own = await makeAccount(api.app);
  const { token } = own;
  const limit = (calling_hours_allowed: string | null) =>
    api.app.db.query
      .transaction()
      .execute((tx) =>
        setAccountLimits(
          tx,
          operatorOf(own.account_id, "req").actor,
          { calling_hours_allowed },
          api.clock.now(),
        ),
      );
  for (const [from, to, expected] of [
    ["00:00", "00:00", ["00:00", "00:00"]],
    ["22:00", "22:00", ["22:00", "22:00"]],
    ["22:00", "23:00", ["08:00", "08:00"]],
    ["22:00", "06:00", ["08:00", "08:00"]],
    ["20:00", "02:00", ["20:00", "21:00"]],
    ["22:00", "10:00", ["08:00", "10:00"]],
    ["20:00", "10:00", ["08:00", "10:00"]],
    ["07:00", "20:00", ["08:00", "20:00"]],
  ] as const) {
    const window = { night_calling: false, calling_from: from, calling_to: to };
    assert.equal((await patch({ calls: window }, token)).status, 200);
    const { calls } = await limit("08:00-21:00");
    assert.deepEqual([calls.calling_from, calls.calling_to], expected);
    if (from !== "07:00")
      assert.ok(!mayCallAt({ ...calls, time_zone: "UTC" }, new Date("2026-11-28T12:00:00Z")));
    const audit = await api.send("GET", "/api/v1/audit?action=account.limits_set", { token });
    assert.deepEqual(audit.body.data[0].detail, {
      calling_hours_allowed: "08:00-21:00",
      calling_from: expected[0],
      calling_to: expected[1],
      night_calling: false,
    });
    assert.equal((await patch({ calls: { recorded: true } }, token)).status, 200);
    const never = { calls: { calling_from: "00:00", calling_to: "00:00" } };
    assert.equal((await patch(never, token)).status, 200);
    await limit(null);
  }
});
