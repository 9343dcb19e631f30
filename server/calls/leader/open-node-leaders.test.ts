import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeExtension,
  makeAgentGroup,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { makeFullVoiceFile } from "../../../test/support/voice-file-factory.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { makeSuppression } from "../../../test/support/chat-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
});
after(() => fixture.close());

let phones = 0;
/** Returns another customer for each test, so that no two calls have the same customer. */
const phone = (code?: string) =>
  code
    ? `98${String(++phones).padStart(2, "0")}777${code}`
    : `98${String(++phones).padStart(8, "0")}`;

const types = ({ events }: { events: { type: string; leg?: string }[] }) =>
  events.map(({ type, leg }) => (leg ? `${type} ${leg}` : type));

test("calls the agent, then the customer, bridges them, and bills the call by the pulse when the customer hangs up", async () => {
  const had = await credits();
  const campaign = await fixture.call({ to_number: phone(), from_number: "101", reference: "r-1" });
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual(types(record), [
    "call.initiated",
    "call.ringing agent",
    "call.answered agent",
    "call.ringing customer",
    "call.answered customer",
    "call.bridged",
    "call.recording.ready",
    "call.completed",
  ]);
  assert.equal(record.reference, "r-1");
  assert.deepEqual(
    [record.disposition, record.ended_reason, record.ended_by, record.cost],
    ["answered", "hung_up", "customer", 2],
  );
  assert.deepEqual(
    record.legs.map((leg: { role: string; status: string }) => [leg.role, leg.status]),
    [
      ["agent", "completed"],
      ["customer", "completed"],
    ],
  );
  assert.deepEqual(await credits(), { available: had.available - 2, reserved: had.reserved });
});

const refusals = [
  { code: "486", status: "busy", disposition: "busy" },
  { code: "603", status: "busy", disposition: "declined" },
  { code: "404", status: "failed", disposition: "unallocated" },
  { code: "484", status: "failed", disposition: "invalid" },
  { code: "503", status: "failed", disposition: "congestion" },
  { code: "020", status: "failed", disposition: "unreachable" },
];
for (const refusal of refusals) {
  const { status, disposition } = refusal;
  test(`a customer who is ${disposition} ends the call as ${status}, and bills only the agent's leg`, () =>
    assertRefused(refusal));
}

async function assertRefused({ code, status, disposition }: (typeof refusals)[number]) {
  const campaign = await fixture.call({ to_number: phone(code), from_number: "101" });
  const record = await fixture.awaitCall(campaign, status);
  assert.deepEqual(
    [record.disposition, record.ended_reason, record.cost],
    [disposition, `customer_${disposition}`, 1],
  );
}

test("an unanswered agent leg costs nothing, and no customer is called", async () => {
  await setCalling(fixture.app, fixture.account, { agent_ring_seconds: 5 });
  const campaign = await fixture.call({ to_number: phone(), from_number: "480" });
  const record = await fixture.awaitCall(campaign, "no-answer");
  assert.deepEqual([record.ended_reason, record.cost], ["agent_no_answer", 0]);
  assert.deepEqual(
    record.legs.map(({ role }: { role: string }) => role),
    ["agent"],
  );
  // Long enough for every other phone of these tests, however busy the machine is.
  await setCalling(fixture.app, fixture.account, { agent_ring_seconds: 60 });
});

test("rings the backup group in its order until an agent answers", async () => {
  await makeExtension(fixture.app, fixture.account, "201");
  const group = await makeAgentGroup(fixture.app, fixture.account, ["486", "201"]);
  const campaign = await fixture.call({
    to_number: phone(),
    from_number: "603",
    agent_not_pick_group: String(group),
  });
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual(
    record.legs.map((leg: { number: string; status: string }) => [leg.number, leg.status]),
    [
      ["603", "busy"],
      ["486", "busy"],
      ["201", "completed"],
      [record.legs[3].number, "completed"],
    ],
  );
  assert.equal(record.policy_applied, "next_in_group");
});

test("rings a busy agent again only after a pause, in which the call can be hung up", async () => {
  const campaign = await fixture.call({
    to_number: phone(),
    from_number: "486",
    agent_not_pick_policy: "retry_agent",
  });
  await eventually(async () => {
    const [record] = await fixture.callRecords(campaign);
    return record.legs[0]?.status === "busy";
  });
  const [{ status, legs }] = await fixture.callRecords(campaign);
  assert.deepEqual([status, legs.length], ["ringing", 1]);
  const record = await hangUp(campaign);
  assert.deepEqual([record.status, record.legs.length, record.cost], ["canceled", 1, 0]);
});

test("a voicemail that answers for an agent does not reach the customer: the next agent presses 1 and does", async () => {
  const accept_voice_file_id = await makeFullVoiceFile(fixture.app, fixture.account);
  const calls = { accept_voice_file_id };
  const changed = await fixture.ask("PATCH", "/api/v1/account", { calls });
  assert.equal(changed.status, 200, changed.text);
  const group = await makeAgentGroup(fixture.app, fixture.account, ["919999777701"]);
  const campaign = await fixture.call({
    to_number: phone(),
    from_number: "9999777205",
    agent_not_pick_group: String(group),
  });
  const record = await fixture.awaitCall(campaign, "completed");
  await fixture.ask("PATCH", "/api/v1/account", { calls: { accept_voice_file_id: null } });
  assert.deepEqual(
    record.legs.map((leg: { role: string; status: string }) => [leg.role, leg.status]),
    [
      ["agent", "no-answer"],
      ["agent", "completed"],
      ["customer", "completed"],
    ],
  );
  assert.equal(record.cost, 3);
});

test("does not ring a suppressed phone of the backup group", async () => {
  await makeExtension(fixture.app, fixture.account, "202");
  const suppressed = "919800777902";
  await makeSuppression(fixture.app, fixture.account, suppressed, { channel: "all" });
  const group = await makeAgentGroup(fixture.app, fixture.account, [suppressed, "202"]);
  const campaign = await fixture.call({
    to_number: phone(),
    from_number: "603",
    agent_not_pick_group: String(group),
  });
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual(
    record.legs
      .slice(0, 3)
      .map((leg: { number: string; status: string }) => [leg.number, leg.status]),
    [
      ["603", "busy"],
      [suppressed, "canceled"],
      ["202", "completed"],
    ],
  );
  const rung = types(record).filter((type) => type === "call.ringing agent");
  assert.equal(rung.length, 2, "the first and the last agent's");
});

test("cancels a second call to a customer during a live one, also by another agent, uncharged", async () => {
  const to_number = phone("900");
  const first = await fixture.call({ to_number, from_number: "301" });
  await fixture.awaitCall(first, "in-progress");
  const second = await fixture.call({ to_number, from_number: "303" });
  const record = await fixture.awaitCall(second, "canceled");
  assert.deepEqual([record.ended_reason, record.cost, record.legs], ["already_in_call", 0, []]);
  await hangUp(first);
  const third = await fixture.call({ to_number, from_number: "301" });
  await fixture.awaitCall(third, "in-progress");
  await hangUp(third);
});

test("a hang-up by the API ends both legs", async () => {
  const campaign = await fixture.call({ to_number: phone("900"), from_number: "302" });
  await fixture.awaitCall(campaign, "in-progress");
  const record = await hangUp(campaign);
  assert.deepEqual([record.ended_reason, record.ended_by], ["hung_up_by_api", "api"]);
  assert.deepEqual(await liveLegs(), []);
});

test("an agent's * and digit transfer the customer to the extension of that digit", async () => {
  await makeExtension(fixture.app, fixture.account, "401", { digit: "1" });
  const campaign = await fixture.call({
    to_number: phone("900"),
    from_number: "9999777101",
    extension_for_transfer: "1",
  });
  await eventually(async () =>
    types((await fixture.callRecords(campaign))[0]).includes("call.transferred"),
  );
  await eventually(
    async () => (await fixture.callRecords(campaign))[0].legs[0].status === "completed",
  );
  const record = await hangUp(campaign);
  assert.equal(record.legs[2].role, "transfer");
  assert.equal(record.legs[2].number, "401");
  assert.equal(record.cost, 3);
});

test("a busy customer is retried after the requested minutes, as often as requested", async () => {
  const campaign = await fixture.call({
    to_number: phone("486"),
    from_number: "101",
    max_retry: 1,
    retry_after: 2,
  });
  assert.equal(await retriedAfterMs(campaign), 120_000);
});

test("a busy customer is not redialed at once: with retry_after 0, a minute passes", async () => {
  const campaign = await fixture.call({
    to_number: phone("486"),
    from_number: "101",
    max_retry: 1,
    retry_after: 0,
  });
  assert.equal(await retriedAfterMs(campaign), 60_000);
});

/** Waits for the call's only retry, with the clock set to when it is due; returns the wait that was asked for. */
async function retriedAfterMs(campaign: number): Promise<number> {
  const { clock } = fixture.api;
  await eventually(async () => (await fixture.callRecords(campaign)).length === 2);
  const [{ ended_at, retry_at }] = await fixture.callRecords(campaign);
  clock.set(retry_at);
  await eventually(async () => {
    const records = await fixture.callRecords(campaign);
    return records.length === 2 && records.every(({ status }) => status === "busy");
  });
  clock.release();
  const [first, second] = await fixture.callRecords(campaign);
  assert.deepEqual([first.attempt, second.attempt, second.retry_at], [1, 2, null]);
  assert.ok(second.initiated_at >= retry_at);
  return Date.parse(retry_at) - Date.parse(ended_at);
}

async function credits(): Promise<{ available: number; reserved: number }> {
  return (await fixture.ask("GET", "/api/v1/credits")).body.call;
}

async function hangUp(campaign: number) {
  const [{ call_id }] = await fixture.callRecords(campaign);
  const { status } = await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  assert.ok(status < 300, String(status));
  return fixture.awaitCall(campaign, "completed", "canceled");
}

async function liveLegs(): Promise<unknown[]> {
  const { account_id } = fixture.account;
  return fixture.app.db.query
    .selectFrom("call_legs")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("state", "<>", "ended")
    .execute();
}
