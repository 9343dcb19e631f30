// Successful launches: the response, stored data and events of each call type and recipient source
// (contract 2.3 and 4.3).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import iconv from "iconv-lite";
import { makeSandboxTrunk, setCalling } from "../support/telephony-factory.ts";
import { makeSuppression } from "../support/chat-factory.ts";
import { makeContact } from "../support/crm-factory.ts";
import { makeAccount, makeCredits, unique } from "../support/account-factory.ts";
import { assertProblem } from "./lead-api.ts";
import { makeFullVoiceFile, test_agent, test_menu } from "../support/voice-file-factory.ts";
import {
  assertLaunched,
  assertRefused,
  formOf,
  preview_path,
  startVoiceApi,
  test_call_path,
  type StoredCampaign,
  type VoiceApi,
} from "./voice-api.ts";

let voice: VoiceApi;

before(async () => {
  voice = await startVoiceApi();
});
after(() => voice.api.close());

const numbersOf = ({ recipients }: StoredCampaign) => recipients.map(({ number }) => number);

/** Returns the parts of a launch by CSV; `more` replaces and adds text parts. */
function csvParts(file: string | Buffer, more: Record<string, string> = {}) {
  const fields = {
    campaign_name: "Delivery day",
    voice_file_id: String(voice.voice_file_id),
    call_type: "obd_voice_call",
    sendTo: "csv",
    csv_number_column: "phone",
    ...more,
  };
  const blob = new Blob([typeof file === "string" ? file : new Uint8Array(file)]);
  return [...Object.entries(fields), ["file", blob] as [string, Blob]];
}

async function launchCsv(file: string | Buffer, more?: Record<string, string>) {
  return voice.stored(assertLaunched(await voice.launchForm(csvParts(file, more))));
}

/** Creates a group of members with these variables by phone; `called` is the member's name. */
async function makeGroup(members: Readonly<Record<string, Record<string, string>>>) {
  const { app } = voice.api;
  const { account_id } = voice.account;
  const created_at = app.clock.now();
  const { id } = await app.db.query
    .insertInto("groups")
    .values({ account_id, name: unique("group"), created_at, updated_at: created_at })
    .returning("id")
    .executeTakeFirstOrThrow();
  const rows = Object.entries(members).map(([phone, { called: name = null, ...variables }]) => ({
    account_id,
    group_id: id,
    phone_key: phone,
    phone,
    name,
    created_at,
    variables: JSON.stringify(variables),
  }));
  if (rows.length > 0) await app.db.query.insertInto("group_members").values(rows).execute();
  return String(id);
}

test("a launch returns 201 with exactly success, id and campaignId; the campaign runs, is audited and wakes the node leaders of its trunk", async () => {
  const { app } = voice.api;
  const notified: string[] = [];
  app.notifications.on("voice_work", (subject) => notified.push(subject));
  const answer = await voice.launch(voice.body());
  const campaignId = assertLaunched(answer);
  const { campaign, recipients, rejects, counts } = await voice.stored(campaignId);
  const { account_id, id, public_id, created_at, started_at, trunk_id, ...rest } = campaign;
  assert.deepEqual([public_id, id, trunk_id], [answer.body.id, campaignId, voice.trunk_id]);
  assert.deepEqual(started_at, created_at);
  assert.deepEqual(rest, {
    name: "Delivery day",
    call_type: "obd_voice_call",
    send_to: "Numbers",
    voice_file_id: voice.voice_file_id,
    group_id: null,
    caller_id: "0",
    launch_drivers: ["sandbox"],
    is_test: false,
    plan: rest.plan,
    state: "running",
    max_retry: 0,
    retry_after_minutes: 0,
    scheduled_at: null,
    callback_url: null,
    crm_workspace_id: null,
    total: 1,
    rejected: 0,
    duplicates: 0,
    purged: false,
    purged_at: null,
    purged_to: 0,
    time_zones: ["Asia/Calcutta"],
    created_by: voice.account.owner_id,
    finished_at: null,
  });
  const [number, phone] = ["9876543210", "919876543210"];
  assert.deepEqual(recipients, [
    { id: 1, number, phone, variables: null, state: "waiting", due_at: created_at },
  ]);
  assert.deepEqual([rejects, counts], [[], { slot: 9, synthesizing: 0, waiting: 1 }]);
  assert.deepEqual(notified, [String(trunk_id)]);
  const of = { campaign_id: campaignId, id: public_id, name: "Delivery day" };
  const { rows: recorded } = await app.db.pool.query(
    `select type, data from events where account_id = $1 and (data ->> 'campaign_id')::bigint = $2 order by id`,
    [account_id, campaignId],
  );
  assert.deepEqual(recorded, [
    {
      type: "voice.campaign.created",
      data: { ...of, total: 1, rejected: 0, duplicates: 0, scheduled_at: null },
    },
    { type: "voice.campaign.started", data: of },
  ]);
  const { rows: audit } = await app.db.pool.query(
    `select subject_id, detail from audit_entries where account_id = $1 and action = 'voice_campaign.created'`,
    [account_id],
  );
  assert.deepEqual(audit, [{ subject_id: String(campaignId), detail: { total: 1 } }]);
});

test("each of the four call types launches with the current content of its voice file and keeps it when the file changes", async () => {
  const { db } = voice.api.app;
  const file = "phone,name,city,plan,x\n9876543210,Ann,Pune,Gold,1\n";
  const stored = new Map<string, StoredCampaign>();
  for (const call_type of ["obd_voice_call", "obd_smartvoice", "obd_ivr", "ai_bot"])
    stored.set(call_type, await launchCsv(file, { call_type }));
  await db.query
    .updateTable("voice_files")
    .set({ script: "Good bye {{name}}", opt_out_key: null })
    .where("account_id", "=", voice.account.account_id)
    .execute();
  const planOf = async (call_type: string) => {
    const { id } = stored.get(call_type)!.campaign;
    return (await voice.stored(id)).campaign.plan as Record<string, Record<string, unknown>>;
  };
  const of = async (call_type: string) => (await planOf(call_type))["content"];
  assert.deepEqual((await of("obd_voice_call"))!["call_type"], "obd_voice_call");
  assert.deepEqual(await of("obd_smartvoice"), {
    call_type: "obd_smartvoice",
    script: "Hello {{name}}",
    language: "en",
  });
  assert.deepEqual(await of("obd_ivr"), { call_type: "obd_ivr", menu: test_menu });
  assert.deepEqual(await of("ai_bot"), {
    call_type: "ai_bot",
    agent: test_agent,
    transfer_to: null,
  });
  const { opt_out_key, answering_machine } = await planOf("ai_bot");
  assert.deepEqual([opt_out_key, answering_machine], ["9", "retry"]);
  // Only the columns that a text of the plan uses are stored.
  const variables = [...stored].map(([, { recipients }]) => recipients[0]!.variables);
  assert.deepEqual(variables, [
    null,
    { name: "Ann" },
    { plan: "Gold" },
    { name: "Ann", city: "Pune" },
  ]);
  const states = [...stored].map(([, { recipients }]) => recipients[0]!.state);
  assert.deepEqual(states, ["waiting", "synthesizing", "waiting", "waiting"]);
  assert.equal(stored.get("obd_smartvoice")!.counts.synthesizing, 1);
  await db.query
    .updateTable("voice_files")
    .set({ script: "Hello {{name}}", opt_out_key: "9" })
    .where("account_id", "=", voice.account.account_id)
    .execute();
});

test("number accepts ten-digit numbers separated by commas, with spaces; a duplicate is called once, counted and listed", async () => {
  const number = " 9876543210 ,9876543211,\t9876543210\n, 0000000000";
  const json = await voice.take({ number });
  const parts = Object.entries(voice.body({ number })).map(([k, v]) => [k, String(v)] as const);
  const form = await voice.stored(assertLaunched(await voice.launchForm(parts)));
  for (const { campaign, recipients, rejects } of [json, form]) {
    assert.deepEqual(
      recipients.map(({ phone }) => phone),
      ["919876543210", "919876543211", "910000000000"],
    );
    assert.deepEqual([campaign.total, campaign.duplicates, campaign.rejected], [3, 1, 0]);
    assert.deepEqual(rejects, [
      { row: 3, value: "9876543210", reason: "has the number of an earlier row" },
    ]);
  }
});

test("lists of any length are stored in order without duplicates", async () => {
  const digits = fc.integer({ min: 0, max: 300 }).map((n) => String(9_000_000_000 + n));
  const lists = fc.array(digits, { minLength: 1, maxLength: 60 });
  const property = async (list: string[]) => {
    const stored = await voice.take({ number: list.join(",") });
    assert.deepEqual(numbersOf(stored), [...new Set(list)]);
    assert.equal(stored.campaign.duplicates, list.length - new Set(list).size);
  };
  await fc.assert(fc.asyncProperty(lists, property), { numRuns: 12 });
  const many = Array.from({ length: 12_000 }, (_, i) => String(9_100_000_000 + (i % 11_000)));
  await property(many);
});

test("reads a CSV in any encoding, with any line ends, quotes and delimiter, and form parts in any order", async () => {
  const text = 'name,phone\n"Zoë, of ""Köln""",9876543210\nBea,9876543211\n';
  const files = [
    text,
    `\ufeff${text}`,
    text.replaceAll("\n", "\r\n"),
    iconv.encode(text, "win1252"),
    iconv.encode(text, "utf16le", { addBOM: true }),
    iconv.encode(text, "utf16be", { addBOM: true }),
    text.replace("name,phone", "name;phone").replaceAll(/,(?=9)/g, ";"),
  ];
  const more = { call_type: "obd_smartvoice" };
  for (const [i, file] of files.entries()) {
    const { recipients } = await launchCsv(file, more);
    const variables = recipients.map((recipient) => recipient.variables);
    assert.deepEqual(variables, [{ name: 'Zoë, of "Köln"' }, { name: "Bea" }], `file ${i}`);
  }
  const reversed = csvParts(text, more).toReversed();
  const answer = await voice.launchForm(reversed);
  assert.deepEqual(numbersOf(await voice.stored(assertLaunched(answer))), [
    "9876543210",
    "9876543211",
  ]);
});

test("numbers of a CSV may have country code, plus, zero and spaces; invalid numbers, missing variables and duplicates are rejected, counted and listed", async () => {
  const file =
    "phone,name\n+91 98765 43210,Ann\n919876543211,Bob\n09876543212,Cy\n +91 (0) 98765 43213 ,Di\n" +
    "\n12,Ed\n+44 7911 123456,Flo\n9876543214,\n9876543210,Gus\n9876543214,Hal\n'=1+1,Ida\n";
  const stored = await launchCsv(file, { call_type: "obd_smartvoice" });
  const numbers = [0, 1, 2, 3, 4].map((i) => `987654321${i}`);
  assert.deepEqual(numbersOf(stored), numbers);
  const phones = stored.recipients.map(({ phone }) => phone);
  assert.deepEqual(
    phones,
    numbers.map((number) => `91${number}`),
  );
  const { total, rejected, duplicates, id, public_id } = stored.campaign;
  assert.deepEqual([total, rejected, duplicates], [5, 4, 1]);
  const invalid_number = "must be a number of ten digits, with or without the country code";
  const rejects = [
    { row: 7, value: "12", reason: invalid_number },
    { row: 8, value: "+44 7911 123456", reason: invalid_number },
    { row: 9, value: "9876543214", reason: "must have a value for the variable name" },
    { row: 10, value: "9876543210", reason: "has the number of an earlier row" },
    { row: 12, value: "=1+1", reason: invalid_number },
  ];
  assert.deepEqual(stored.rejects, rejects);
  const { token } = voice.account;
  const get = (path: string, more = {}) =>
    voice.api.send("GET", `/api/v1/voice/campaigns/${path}`, { token, ...more });
  const first = await get(`${public_id}/rejects?limit=3`);
  assert.deepEqual(first.body.data, rejects.slice(0, 3));
  const rest = await get(`${id}/rejects?limit=3&cursor=${first.body.next_cursor}`);
  assert.deepEqual(rest.body, { data: rejects.slice(3), next_cursor: null });
  const csv = await get(`${id}/rejects`, { headers: { accept: "text/csv" } });
  assert.equal(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  assert.match(csv.text, /^row,value,reason\r\n7,12,/);
  assert.match(csv.text, /\r\n12,'=1\+1,/);
  const stranger = await makeAccount(voice.api.app);
  assert.equal((await get(`${id}/rejects`, { token: stranger.token })).status, 404);
});

test("a row of a CSV with more cells than the header is rejected, because its values may be shifted; blank cells are accepted", async () => {
  const rows = ["9876543210,Rao, Anil", '9876543211,"Rao, Anil", ,'];
  const stored = await launchCsv(["phone,name", ...rows].join("\n"), {
    call_type: "obd_smartvoice",
  });
  assert.deepEqual(numbersOf(stored), ["9876543211"]);
  assert.deepEqual(stored.rejects, [
    { row: 2, value: "9876543210", reason: "has more cells than the header's 2" },
  ]);
});

test("a CSV with 30,000 valid and 30,000 invalid rows is one campaign in row order, with every reject counted and listed", async () => {
  const rows = Array.from({ length: 60_000 }, (_, i) =>
    i % 2 === 0 ? `${9_200_000_000 + i},Person ${i} \\ "" x` : `no ${i},`,
  );
  const file = `phone,name\n${rows.map((row) => row.replace(/,(.*)/, ',"$1"')).join("\n")}\n`;
  const answer = await voice.launchForm(csvParts(file, { call_type: "obd_smartvoice" }));
  const campaignId = assertLaunched(answer);
  const { rows: found } = await voice.api.app.db.pool.query(
    `select count(*) as count, count(*) filter (where number <> (9200000000 + (id - 1) * 2)::text
       or phone <> '91' || number
       or variables ->> 'name' is distinct from 'Person ' || (id - 1) * 2 || ' \\ " x') as wrong,
       (select json_build_array(count(*), min(row), max(row), min(value)) from voice_rejects
         where account_id = $1 and campaign_id = $2) as rejects
     from voice_recipients where account_id = $1 and campaign_id = $2`,
    [voice.account.account_id, campaignId],
  );
  assert.deepEqual(found, [{ count: 30_000, wrong: 0, rejects: [30_000, 3, 60_001, "no 1"] }]);
  const { campaign } = await voice.stored(campaignId);
  assert.deepEqual([campaign.total, campaign.rejected], [30_000, 30_000]);
});

test("a group's members are called with their variables, by JSON and by form; members without a required variable are rejected", async () => {
  const groupId = await makeGroup({
    "919876543210": { called: "A. Smith", name: "Ann", other: "x" },
    "919876543211": { other: "x" },
    // The member's name is the variable `name`, unless a variable has that name.
    "447911123456": { called: "Flo" },
  });
  const more = { sendTo: "Group", groupId, number: undefined, call_type: "obd_smartvoice" };
  const json = await voice.take(more);
  const parts = Object.entries({ ...voice.body(more) }).filter(([, value]) => value !== undefined);
  const form = parts.map(([name, value]) => [name, String(value)] as const);
  for (const stored of [json, await voice.stored(assertLaunched(await voice.launchForm(form)))]) {
    const shown = stored.recipients.map(({ number, phone, variables }) => [
      number,
      phone,
      variables,
    ]);
    assert.deepEqual(shown, [
      ["447911123456", "447911123456", { name: "Flo" }],
      ["9876543210", "919876543210", { name: "Ann" }],
    ]);
    assert.deepEqual(stored.rejects, [
      { row: 3, value: "919876543211", reason: "must have a value for the variable name" },
    ]);
    assert.equal(stored.campaign.group_id, Number(groupId));
  }
});

test("fields of another sendTo are ignored, and null and an empty optional text equal an omitted field", async () => {
  const others = { groupId: "no group", csv_number_column: "" };
  await voice.take(others);
  await voice.take({
    groupId: null,
    csv_number_column: null,
    max_retry: null,
    retry_after: null,
    schedulled_at: null,
    callback_url: null,
    crm_workspace_id: null,
  });
  const { campaign } = await voice.take({ schedulled_at: "", crm_workspace_id: "" });
  assert.deepEqual([campaign.state, campaign.crm_workspace_id], ["running", null]);
  const file = new Blob(["phone\n9876543210\n"]);
  const parts = Object.entries(voice.body({ ...others, callback_url: "", max_retry: "" }));
  const form = parts.map(([name, value]) => [name, String(value)] as const);
  const answer = await voice.launchForm([...form, ["file", file]]);
  assert.equal((await voice.stored(assertLaunched(answer))).campaign.send_to, "Numbers");
});

test("name, retries, callback_url and CRM workspace are stored as sent, up to their limits", async () => {
  const campaign_name = "🎈".repeat(191);
  const callback_url = `https://example.com/${"x".repeat(2_028)}`;
  const crm_workspace_id = String(voice.account.workspace_id);
  const more = { campaign_name, callback_url, crm_workspace_id };
  for (const [max_retry, retry_after] of [
    [1, 0],
    [3, 30],
  ]) {
    const { campaign } = await voice.take({ ...more, max_retry, retry_after });
    assert.deepEqual(
      [campaign.name, campaign.callback_url, campaign.crm_workspace_id],
      [campaign_name, callback_url, voice.account.workspace_id],
    );
    assert.deepEqual([campaign.max_retry, campaign.retry_after_minutes], [max_retry, retry_after]);
  }
  const form = { ...more, max_retry: "2", retry_after: " 5 ", schedulled_at: "2099-01-31 09:30" };
  const { campaign } = await launchCsv("phone\n9876543210\n", form);
  assert.deepEqual([campaign.max_retry, campaign.retry_after_minutes], [2, 5]);
  assert.equal(campaign.scheduled_at?.toISOString(), "2099-01-31T09:30:00.000Z");
  const { campaign: other } = await voice.take({
    retry_after: 7,
    callback_url: "HTTP://x.example:8080/?a#b",
  });
  assert.deepEqual([other.max_retry, other.callback_url], [0, "HTTP://x.example:8080/?a#b"]);
});

test("schedulled_at sets the start time, in the account's time zone without an offset; a time within a minute starts the campaign now", async () => {
  const own = await startVoiceApi({ databaseUrl: voice.api.database_url });
  const { app } = own.api;
  await setCalling(app, own.account, { time_zone: "Asia/Kolkata" });
  let notifications = 0;
  app.notifications.on("voice_work", (subject) => {
    if (subject === String(own.trunk_id)) notifications++;
  });
  for (const [schedulled_at, utc] of [
    ["2099-01-31T09:30:00Z", "2099-01-31T09:30:00.000Z"],
    ["2099-01-31T09:30:00+0530", "2099-01-31T04:00:00.000Z"],
    ["2099-01-31 09:30", "2099-01-31T04:00:00.000Z"],
  ] as const) {
    const { campaign, recipients } = await own.take({ schedulled_at });
    assert.deepEqual([campaign.state, campaign.started_at], ["scheduled", null]);
    assert.equal(campaign.scheduled_at?.toISOString(), utc);
    assert.equal(recipients[0]!.due_at.toISOString(), utc);
    const job = await app.db.query
      .selectFrom("jobs")
      .select(["kind", "run_at"])
      .where("account_id", "=", own.account.account_id)
      .where("subject", "=", String(campaign.id))
      .executeTakeFirstOrThrow();
    assert.deepEqual(job, { kind: "voice.start_campaign", run_at: campaign.scheduled_at });
  }
  assert.equal(notifications, 0);
  own.api.clock.set(new Date());
  for (const ms of [-60_000, 60_000]) {
    const schedulled_at = new Date(app.clock.now().getTime() + ms).toISOString();
    const { campaign } = await own.take({ schedulled_at });
    assert.deepEqual([campaign.state, campaign.scheduled_at], ["running", null]);
  }
  assert.equal(notifications, 2);
  await own.api.close();
});

test("an account without call credit can launch, and so can one outside its calling window", async () => {
  const dry = await startVoiceApi({ databaseUrl: voice.api.database_url });
  await dry.api.app.db.query
    .deleteFrom("credit_balances")
    .where("account_id", "=", dry.account.account_id)
    .execute();
  const closed = { night_calling: false, calling_from: "09:00", calling_to: "09:00" };
  await setCalling(dry.api.app, dry.account, closed);
  assert.equal((await dry.take()).campaign.state, "running");
  await dry.api.close();
});

test("a preview reports the recipients, cost and schedule of a launch by JSON and by form, and creates nothing", async () => {
  const own = await startVoiceApi({ databaseUrl: voice.api.database_url });
  const { app } = own.api;
  const { token } = own.account;
  await setCalling(app, own.account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "09:00:01",
    time_zone: "Asia/Kolkata",
  });
  await app.db.pool.query("update trunk_nodes set calls_per_second = 2 where trunk_id = $1", [
    own.trunk_id,
  ]);
  await makeSuppression(app, own.account, "919876543211", { channel: "voice" });
  await makeSuppression(app, own.account, "919876543212", { channel: "chat" });
  own.api.clock.set("2030-01-01T10:00:00Z");
  const number = [0, 1, 2, 3, 4, 5, 0].map((i) => `987654321${i}`).join(",");
  const schedulled_at = "2030-01-05T02:30:00Z";
  const json = own.body({ number, schedulled_at });
  const expected = {
    total: 6,
    rejected: 0,
    duplicates: 1,
    suppressed: 1,
    suppressed_samples: ["919876543211"],
    rejects: [{ row: 7, value: "9876543210", reason: "has the number of an earlier row" }],
    credits: { needed: 5, available: 100_000, sufficient: true },
    starts_at: "2030-01-05T03:30:00.000Z",
    // Two calls per second, during one second per day.
    finishes_at: "2030-01-07T03:30:00.500Z",
    zones: [
      {
        time_zones: ["Asia/Calcutta"],
        recipients: 5,
        callable_from: "2030-01-05T03:30:00.000Z",
        at_night: false,
      },
    ],
    daytime_from: "2030-01-05T03:30:00.000Z",
    calls_per_second: 2,
  };
  const answer = await own.api.send("POST", preview_path, { token, json });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body, expected);
  const file = `phone\n12\n${number.replaceAll(",", "\n")}\n`;
  const parts = csvParts(file, { voice_file_id: String(own.voice_file_id), schedulled_at });
  const raw = formOf(parts);
  const form = await own.api.send("POST", preview_path, { token, raw });
  assert.deepEqual(form.body, {
    ...expected,
    rejected: 1,
    rejects: [
      {
        row: 2,
        value: "12",
        reason: "must be a number of ten digits, with or without the country code",
      },
      { ...expected.rejects[0]!, row: 9 },
    ],
  });
  const never = { calling_from: "09:00", calling_to: "09:00" };
  await setCalling(app, own.account, never);
  const closed = await own.api.send("POST", preview_path, { token, json });
  assert.deepEqual([closed.body.starts_at, closed.body.finishes_at], [null, null]);
  assert.equal(closed.body.zones[0].callable_from, null);
  const refused = await own.api.send("POST", preview_path, {
    token,
    json: own.body({ number: "1" }),
  });
  assertRefused(refused, "number");
  assert.equal(await own.campaignCount(), 0);
  await own.api.close();
});

test("a preview reports calls at night where people are, and from when it is day there", async () => {
  const own = await startVoiceApi({ databaseUrl: voice.api.database_url });
  const { token } = own.account;
  await setCalling(own.api.app, own.account, { night_calling: true, time_zone: "UTC" });
  const number = Array.from({ length: 50 }, (_, i) => 9_876_543_200 + i).join(",");
  const json = own.body({ number });
  const previewAt = async (now: string) => {
    own.api.clock.set(now);
    const { body } = await own.api.send("POST", preview_path, { token, json });
    return [body.starts_at, body.zones[0].at_night, body.daytime_from];
  };
  // 00:55 in India, which is 05:30 ahead.
  const midnight = "2030-01-01T19:25:00.000Z";
  assert.deepEqual(await previewAt(midnight), [midnight, true, "2030-01-02T03:30:00.000Z"]);
  const noon = "2030-01-02T06:30:00.000Z";
  assert.deepEqual(await previewAt(noon), [noon, false, noon]);
  // Not all of them are called in the last millisecond of the day.
  const late = "2030-01-02T15:29:59.999Z";
  assert.deepEqual(await previewAt(late), [late, true, late]);
  await own.api.close();
});

test("a preview's zones are those of the launch, also of contacts with a time zone", async () => {
  const { api, account } = voice;
  for (const [phone, time_zone] of [
    ["9870000001", "Europe/London"],
    ["9870000002", "America/New_York"],
  ] as const)
    await makeContact(api.app, account, { phone, name: "Ann", time_zone });
  const json = voice.body({ number: "9870000001,9870000002,9870000003" });
  const { body } = await api.send("POST", preview_path, { token: account.token, json });
  const zones = body.zones.map((zone: { time_zones: string[] }) => zone.time_zones.join("&"));
  const { campaign } = await voice.stored(assertLaunched(await voice.launch(json)));
  const stored = ["America/New_York", "Asia/Calcutta", "Europe/London"];
  assert.deepEqual(campaign.time_zones.toSorted(), stored);
  assert.deepEqual(zones.toSorted(), stored);
});

test("a test call is a campaign of one number with the given variables and has the response of a launch", async () => {
  const { token } = voice.account;
  const call = (more: object) =>
    voice.api.send("POST", test_call_path, {
      token,
      json: {
        voice_file_id: voice.voice_file_id,
        call_type: "obd_smartvoice",
        number: "9876543210",
        ...more,
      },
    });
  const { campaign, recipients } = await voice.stored(
    assertLaunched(await call({ variables: { name: "Ann" } })),
  );
  assert.deepEqual([campaign.is_test, campaign.state, campaign.total], [true, "running", 1]);
  assert.deepEqual(recipients[0]!.variables, { name: "Ann" });
  assertLaunched(await call({ call_type: "ai_bot", variables: null }));
  await makeSuppression(voice.api.app, voice.account, "919876543219", { channel: "voice" });
  const suppressed = { number: "9876543219" };
  assertRefused(await call(suppressed), "number", "variables.name");
  assertRefused(await call({ voice_file_id: 0, variables: { name: "" } }), "voice_file_id");
  assertRefused(await call({ number: "12", x: 1 }), "x", "number");
});

test("a test call without call credit is refused as insufficient-credit and creates nothing", async () => {
  const { app } = voice.api;
  const account = await makeAccount(app);
  const { account_id, token } = account;
  const voice_file_id = await makeFullVoiceFile(app, account);
  const json = { voice_file_id, call_type: "obd_voice_call", number: "9876543210" };
  const call = () => voice.api.send("POST", test_call_path, { token, json });
  await setCalling(app, account, { night_calling: true });
  await makeSandboxTrunk(app, account);
  await makeCredits(app, account, { chat: 1 });
  const refused = await call();
  assertProblem(refused, 409, "insufficient-credit");
  assert.equal(refused.body.detail, "Insufficient call credit: the call needs 1");
  const campaigns = app.db.query.selectFrom("call_campaigns").select("id");
  assert.deepEqual(await campaigns.where("account_id", "=", account_id).execute(), []);
  await makeCredits(app, account, { call: 1 });
  assertLaunched(await call());
});
