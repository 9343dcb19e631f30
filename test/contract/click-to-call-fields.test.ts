// Each field of a click-to-call: its valid values, its invalid values and what is stored (contract 4.4, 8).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeAgentGroup,
  makeExtension,
  makeNode,
  makeTrunk,
  setCalling,
} from "../support/telephony-factory.ts";
import { makeAccount, unique } from "../support/account-factory.ts";
import {
  assertCallError,
  assertSubmitted,
  fieldsNamed,
  startCallApi,
  type CallApi,
} from "./call-api.ts";

let calls: CallApi;

before(async () => {
  calls = await startCallApi();
});
after(() => calls.api.close());

/** Asserts that each value alone is rejected on the field. */
async function assertRefused(field: string, values: readonly unknown[]): Promise<void> {
  const count = await calls.callCount();
  for (const value of values) await calls.refuse({ [field]: value }, field);
  assert.equal(await calls.callCount(), count);
}

test("to_number is required and exactly 10 digits, stored as sent and as E.164 digits", async () => {
  const { request, call } = await calls.submitValid({ to_number: "9812345678" });
  for (const row of [request, call]) {
    assert.equal(row.to_number, "9812345678");
    assert.equal(row.to_phone, "919812345678");
  }
  const wrong = ["", "981234567", "98123456789", "+919812345678", "98123 45678", "981234567a"];
  await assertRefused("to_number", [
    ...wrong,
    "９８１２３４５６７８",
    9812345678,
    null,
    {},
    undefined,
  ]);
});

test("from_number is required: an extension of 2 to 6 digits, or a phone number in any usual format", async () => {
  for (const [sent, kept] of [
    ["12", "12"],
    ["001", "001"],
    ["123456", "123456"],
    ["9876500001", "919876500001"],
    ["+919876500001", "919876500001"],
    ["+91 98765-00001", "919876500001"],
    ["919876500001", "919876500001"],
    ["09876500001", "919876500001"],
    ["+14155550123", "14155550123"],
    ["14155550123", "14155550123"],
  ] as const) {
    const { request, call } = await calls.submitValid({ from_number: sent });
    assert.equal(request.from_number, sent);
    assert.equal(call.from_number, kept, sent);
  }
  const wrong = ["", " ", "1", "abc", "101a", "+1", "1 01 x", "0".repeat(10_000), "9".repeat(30)];
  await assertRefused("from_number", [...wrong, 101, null, [], undefined]);
});

test("a phone number of ten digits belongs to the account's country", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  await setCalling(own.api.app, own.account, { country_code: "1" });
  own.api.app.notifications.send("token", `${own.account.account_id}:all`);
  const { call } = await own.submitValid({ from_number: "4155550123", to_number: "4155550199" });
  assert.equal(call.from_number, "14155550123");
  assert.equal(call.to_phone, "14155550199");
  await own.api.close();
});

test("an extension must exist in the account unless a sandbox places the call", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  const { app } = own.api;
  await app.db.query.updateTable("trunks").set({ active: false }).execute();
  const node = await makeNode(app, { driver: "asterisk", connected: true });
  const only_account_id = own.account.account_id;
  await makeTrunk(app, [node], { only_account_id });
  await makeExtension(app, own.account, "201");
  await makeExtension(app, calls.account, "202");
  assert.equal((await own.submitValid({ from_number: "201" })).call.node_id, node);
  assert.match(
    await own.refuse({ from_number: "202" }, "from_number"),
    /is not an extension of this account/,
  );
  assert.equal((await own.submitValid({ from_number: "9876500001" })).call.node_id, node);
  await app.db.query.updateTable("trunks").set({ active: true }).execute();
  assert.equal((await own.submitValid({ from_number: "202" })).call.node_id, own.node_id);
  await own.api.close();
});

test("cli_number is exactly 10 digits, and an allowed caller ID of a trunk", async () => {
  const { request, call } = await calls.submitValid({ cli_number: "9000000001" });
  assert.equal(request.cli_number, "9000000001");
  assert.equal(call.cli_number, "9000000001");
  await assertRefused("cli_number", ["", "900000000", "+919000000001", 9000000001, "90000 00001"]);

  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  const { app } = own.api;
  await app.db.query
    .updateTable("trunks")
    .set({ caller_ids: ["9000000001"], caller_ids_only: true })
    .where("id", "=", own.trunk_id)
    .execute();
  await own.submitValid({ cli_number: "9000000001" });
  await own.submitValid({});
  assert.match(
    await own.refuse({ cli_number: "9000000002" }, "cli_number"),
    /is not an allowed caller ID/,
  );
  const node = await makeNode(app);
  const other = await makeTrunk(app, [node], { only_account_id: own.account.account_id });
  assert.equal((await own.submitValid({ cli_number: "9000000002" })).call.trunk_id, other);
  await own.api.close();
});

testText("source", 255);
testText("remark", 2_000);
testText("reference", 255);

function testText(field: "source" | "remark" | "reference", length_max: number): void {
  test(`${field} is any text of at most ${length_max} characters, stored as sent, and empty means omitted`, async () => {
    for (const text of ["x", " Zoë 🙂 ", "<b>'\"\\", "🙂".repeat(length_max)]) {
      assert.equal((await calls.submitValid({ [field]: text })).request[field], text);
    }
    assert.equal((await calls.submitValid({ [field]: "" })).request[field], null);
    await assertRefused(field, ["x".repeat(length_max + 1), 1, true, ["x"], "a\u0000b"]);
  });
}

testAgentGroup("agent_not_pick_group", "agent_not_pick_group_id");
testAgentGroup("from_group_id", "from_group_id");

function testAgentGroup(
  field: "agent_not_pick_group" | "from_group_id",
  column: "agent_not_pick_group_id" | "from_group_id",
): void {
  test(`${field} is the ID of an agent group of the account, as text`, async () => {
    const { app } = calls.api;
    const group_id = await makeAgentGroup(app, calls.account, ["101", "102"]);
    const foreign = await makeAgentGroup(app, await makeAccount(app));
    const { request } = await calls.submitValid({ [field]: String(group_id) });
    assert.equal(request[column], group_id);
    assert.equal((await calls.submitValid({ [field]: "" })).request[column], null);
    const unknown = ["0", String(foreign), "9".repeat(19)];
    for (const id of unknown)
      assert.match(
        await calls.refuse({ [field]: id }, field),
        /is not an agent group of this account/,
      );
    await assertRefused(field, [group_id, "x", "-1", "1.0", "1".repeat(20), true]);
  });
}

test("to_group_id is the ID of a group of the account, as text", async () => {
  const { app } = calls.api;
  const now = app.clock.now();
  const makeGroup = async ({ account_id }: { account_id: number }) => {
    const { id } = await app.db.query
      .insertInto("groups")
      .values({ account_id, name: unique("group"), created_at: now, updated_at: now })
      .returning("id")
      .executeTakeFirstOrThrow();
    return id;
  };
  const group_id = await makeGroup(calls.account);
  const foreign = await makeGroup(await makeAccount(app));
  // Its members are still being deleted.
  const deleted = await makeGroup(calls.account);
  const { query } = app.db;
  await query.updateTable("groups").set({ deleted_at: now }).where("id", "=", deleted).execute();
  assert.equal(
    (await calls.submitValid({ to_group_id: String(group_id) })).request.to_group_id,
    group_id,
  );
  assert.equal((await calls.submitValid({ to_group_id: "" })).request.to_group_id, null);
  await assertRefused("to_group_id", [
    String(foreign),
    String(deleted),
    "0",
    group_id,
    "x",
    "9".repeat(19),
  ]);
});

test("agent_not_pick_policy is applied if it has the group that it needs, and an unknown name means the default", async () => {
  const group = String(await makeAgentGroup(calls.api.app, calls.account));
  const cases: [string | null, string, string][] = [
    // requested, applied with a group, applied without a group
    [null, "next_in_group", "hangup"],
    ["", "next_in_group", "hangup"],
    ["hangup", "hangup", "hangup"],
    ["next_in_group", "next_in_group", "hangup"],
    ["ring_all", "ring_all", "hangup"],
    ["round_robin", "round_robin", "hangup"],
    ["longest_idle", "longest_idle", "hangup"],
    ["retry_agent", "retry_agent", "retry_agent"],
    ["whatever", "next_in_group", "hangup"],
    ["constructor", "next_in_group", "hangup"],
  ];
  for (const [agent_not_pick_policy, withGroup, without] of cases) {
    for (const [more, applied] of [
      [{ agent_not_pick_group: group }, withGroup],
      [{}, without],
    ] as const) {
      const { request } = await calls.submitValid({ agent_not_pick_policy, ...more });
      assert.equal(request.policy_applied, applied, `${agent_not_pick_policy}`);
      assert.equal(request.agent_not_pick_policy, agent_not_pick_policy || null);
    }
  }
  await assertRefused("agent_not_pick_policy", [1, "x".repeat(256)]);
});

testCount("max_retry", 0);
testCount("customer_retry_count", 3);
testCount("agent_retry_count", 3);

function testCount(
  field: "max_retry" | "customer_retry_count" | "agent_retry_count",
  otherwise: number,
): void {
  test(`${field} is an integer from 1 to 3, and ${otherwise} when omitted`, async () => {
    for (const count of [1, 2, 3])
      assert.equal((await calls.submitValid({ [field]: count })).request[field], count);
    assert.equal((await calls.submitValid()).request[field], otherwise);
    await assertRefused(field, [0, 4, -1, 1.5, "2", "", true, 2 ** 40]);
  });
}

test("retry_after is an integer of minutes from 0 to 1440, and 5 when omitted", async () => {
  for (const minutes of [0, 1, 30, 1_440]) {
    const { request } = await calls.submitValid({ max_retry: 1, retry_after: minutes });
    assert.equal(request.retry_after_minutes, minutes);
  }
  assert.equal((await calls.submitValid({ max_retry: 1 })).request.retry_after_minutes, 5);
  assert.equal((await calls.submitValid({ retry_after: 7 })).request.retry_after_minutes, 7);
  await assertRefused("retry_after", [-1, 1_441, 0.5, "5", ""]);
});

testDigit("extension_for_transfer");
testDigit("extension_for_dis");

function testDigit(field: "extension_for_transfer" | "extension_for_dis"): void {
  test(`${field} is exactly 1 digit, with or without an extension of this key`, async () => {
    for (const digit of ["0", "5", "9"])
      assert.equal((await calls.submitValid({ [field]: digit })).request[field], digit);
    assert.equal((await calls.submitValid()).request[field], null);
    await assertRefused(field, ["", "12", "x", "*", 1, " 1"]);
  });
}

test("schedulled_at is the time to place the call, in any ISO 8601 format; without an offset, in the account's time zone", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  own.api.clock.set("2026-05-01T12:00:00Z");
  await setCalling(own.api.app, own.account, { time_zone: "Asia/Kolkata" });
  own.api.app.notifications.send("token", `${own.account.account_id}:all`);
  const at = async (schedulled_at: string | null) => {
    const { request, call } = await own.submitValid({ schedulled_at });
    assert.equal(call.queued_at.toISOString(), "2026-05-01T12:00:00.000Z");
    assert.equal(
      request.scheduled_at?.getTime() ?? call.queued_at.getTime(),
      call.due_at.getTime(),
    );
    return request.scheduled_at?.toISOString() ?? null;
  };
  assert.equal(await at("2026-05-01T14:00:00Z"), "2026-05-01T14:00:00.000Z");
  assert.equal(await at("2026-05-02 09:30:00.250+0530"), "2026-05-02T04:00:00.250Z");
  assert.equal(await at("2026-05-01T20:00"), "2026-05-01T14:30:00.000Z");
  assert.equal(await at("2026-05-01T12:01:00.001Z"), "2026-05-01T12:01:00.001Z");
  assert.equal(await at("2099-01-31T09:30:00Z"), "2099-01-31T09:30:00.000Z");
  for (const now of [
    "2026-05-01T12:01:00Z",
    "2026-05-01T12:00:00Z",
    "2026-05-01T11:59:00Z",
    "",
    null,
  ])
    assert.equal(await at(now), null, `${now} means now`);
  for (const past of ["2026-05-01T11:58:59.999Z", "2026-05-01T12:00", "1999-01-01T00:00:00Z"])
    assert.match(await own.refuse({ schedulled_at: past }, "schedulled_at"), /in the past/);
  for (const wrong of [
    "tomorrow",
    "2026-05-01",
    "2026-02-30T10:00:00Z",
    "x".repeat(65),
    1,
    {},
    " ",
  ])
    await own.refuse({ schedulled_at: wrong }, "schedulled_at");
  await own.api.close();
});

test("notifies the node's leader of an immediate call, but not of a scheduled one", async () => {
  const notified: string[] = [];
  calls.api.app.notifications.on("call_work", (subject) => void notified.push(subject));
  await calls.submitValid({ schedulled_at: "2099-01-31T09:30:00Z" });
  assert.equal(notified.length, 0);
  await calls.submitValid();
  const { node_id, account, trunk_id } = calls;
  assert.ok(notified.includes(`${node_id}:${account.account_id}:${trunk_id}`), String(notified));
});

test("enable_chat is true for any text except empty, 0, false and no", async () => {
  for (const text of ["1", "true", "yes", "anything", "00"])
    assert.equal((await calls.submitValid({ enable_chat: text })).request.enable_chat, true, text);
  for (const text of ["", "0", "false", "FALSE", "no", "No", " no ", null, undefined])
    assert.equal(
      (await calls.submitValid({ enable_chat: text })).request.enable_chat,
      false,
      String(text),
    );
  await assertRefused("enable_chat", [true, false, 1, 0, "x".repeat(256)]);
});

test("auto_block_time is a number of minutes in digits, at most ten years, and 0 means none", async () => {
  for (const [text, minutes] of [
    ["1", 1],
    ["060", 60],
    ["5256000", 5_256_000],
    ["0", null],
    ["", null],
  ] as const)
    assert.equal(
      (await calls.submitValid({ auto_block_time: text })).request.auto_block_minutes,
      minutes,
    );
  await assertRefused("auto_block_time", ["5256001", "-1", "1.5", "1e3", "x", 60, "9".repeat(64)]);
});

test("callback_method is GET, POST or PUT in any case", async () => {
  for (const [text, method] of [
    ["GET", "GET"],
    ["post", "POST"],
    ["Put", "PUT"],
    ["", null],
  ] as const)
    assert.equal(
      (await calls.submitValid({ callback_method: text })).request.callback_method,
      method,
    );
  await assertRefused("callback_method", ["PATCH", "DELETE", " GET", 1]);
});

const optional_fields = [
  "cli_number",
  "source",
  "agent_not_pick_group",
  "agent_not_pick_policy",
  "max_retry",
  "retry_after",
  "customer_retry_count",
  "agent_retry_count",
  "extension_for_transfer",
  "extension_for_dis",
  "schedulled_at",
  "enable_chat",
  "from_group_id",
  "to_group_id",
  "auto_block_time",
  "remark",
  "reference",
  "callback_method",
];

test("null means omitted for each of the eighteen optional fields", async () => {
  const { campaign_id: _, ...omitted } = (await calls.submitValid()).request;
  const nulls = Object.fromEntries(optional_fields.map((field) => [field, null]));
  const { campaign_id: _other, ...request } = (await calls.submitValid(nulls)).request;
  assert.deepEqual(request, omitted);
});

test("rejects an unknown field and suggests the intended one", async () => {
  const message = await calls.refuse({ scheduled_at: "2099-01-31T09:30:00Z" }, "scheduled_at");
  assert.match(message, /unknown field; did you mean schedulled_at\?/);
  await calls.refuse({ To_number: "9876543210", callback_url: "x" }, "To_number", "callback_url");
  await calls.refuse({ constructor: 1 }, "constructor");
});

test("reports every invalid field at once, each with its reason", async () => {
  const wrong = {
    to_number: "1",
    from_number: "x",
    cli_number: "1",
    source: 1,
    agent_not_pick_group: "0",
    agent_not_pick_policy: 1,
    max_retry: 9,
    retry_after: -1,
    customer_retry_count: 0,
    agent_retry_count: "1",
    extension_for_transfer: "12",
    extension_for_dis: "x",
    schedulled_at: "soon",
    enable_chat: true,
    from_group_id: "0",
    to_group_id: "0",
    auto_block_time: "5256001",
    remark: 1,
    reference: 1,
    callback_method: "PATCH",
    extra: 1,
  };
  const named = fieldsNamed(assertCallError(await calls.submit(wrong), 400));
  assert.deepEqual(named.toSorted(), Object.keys(wrong).toSorted());
});

test("rejects a body that is not an object", async () => {
  for (const body of [[], "x", 1, null, true]) {
    const answer = await calls.submit(body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.body.message, /^body: must be an object/);
  }
  assertSubmitted(await calls.submit(calls.body()));
});
