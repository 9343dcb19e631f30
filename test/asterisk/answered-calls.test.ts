// Answered calls: dialing order, audio, end, and recording.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  channelIn,
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
  type SwitchRecord,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { makeTrunk } from "../support/telephony-factory.ts";
import { eventually } from "../support/eventually.ts";
import { readWav } from "../support/read-wav.ts";
import { farEnd } from "../support/sipp/outcomes.ts";

let fixture: AsteriskFixture;
let client: CallClient;
let unrecorded: CallClient;
let restricted: CallClient;
/** Its ring time for customers exceeds any delay of a busy machine. */
let patient: CallClient;

before(async () => {
  // Generous time-outs: events have more details than CDRs, and a busy machine must not lose the connection.
  fixture = await openAsteriskFixture({ driver: { ping_ms: 30_000, request_timeout_ms: 60_000 } });
  client = await fixture.client();
  unrecorded = await fixture.client({ calls_recorded: false });
  restricted = await fixture.client();
  patient = await fixture.client({ customer_ring_seconds: 120 });
  await makeTrunk(fixture.app, [fixture.node_id], {
    endpoint: "trunk",
    only_account_id: restricted.account.account_id,
    number_format: "plus_e164",
    caller_ids: ["918044441111", "918044442222"],
  });
  fixture.startLeaders();
});
after(() => fixture.close());

/** Returns a unique number with the same far-end behavior, so that no two calls share a pair. */
let customers = 0;
function customer(...behavior: Parameters<typeof farEnd>): string {
  return farEnd(...behavior).replace(/0{3}$/, String(++customers).padStart(3, "0"));
}

/** Returns the INVITE that the carrier received for a number, from its message log. */
function inviteOf(number: string): string | undefined {
  const parts = fixture.carrier.messages().split(/^-{20,} /m);
  return parts.find((part) => new RegExp(`^INVITE sip:\\+?91${number}@`, "m").test(part));
}

async function hangUp(of: CallClient, callId: number): Promise<void> {
  assert.equal((await of.ask("POST", `/api/v1/calls/${callId}/hangup`)).status, 200);
}

async function talkingTo(of: CallClient, to_number: string, from_number: string) {
  const campaign = await of.call({ to_number, from_number });
  const { call_id } = await of.awaitCall(campaign, "in-progress");
  await fixture.talking(of, call_id, [1, 2]);
  return { campaign, call_id };
}

type Report = Awaited<ReturnType<CallClient["awaitCall"]>>;

/** Repeats a call whose agent hangs up until it was far enough then; on a busy machine it may not be. */
async function agentHangsUp(
  behavior: "speaks" | "rings_on",
  isReached: (report: Report) => boolean,
): Promise<Report> {
  let report: Report;
  await eventually(async () => {
    const request = { to_number: customer(behavior), from_number: extensions.hangs_up };
    report = await client.awaitCall(await client.call(request), "completed", "canceled");
    return isReached(report);
  });
  return report;
}

/** Waits for the CDRs, which are written a moment after the legs have ended. */
async function recordsOf(callId: number, legs: number, of = client): Promise<SwitchRecord[]> {
  await eventually(() => fixture.records(of, callId).length === legs);
  return fixture.records(of, callId);
}

suite("answered calls on Asterisk", { concurrency: true }, () => {
  test("the customer is called only after the agent has answered, and ringback plays to the agent", async () => {
    const request = { to_number: customer("rings_on"), from_number: extensions.answers_late };
    const campaign = await patient.call(request);
    const [{ call_id }] = await patient.callRecords(campaign);
    await eventually(async () => {
      const [{ legs }] = await patient.callRecords(campaign);
      return legs[1]?.status === "ringing";
    });
    const ringing = await fixture.ari(
      "GET",
      `/playbacks/trk-${patient.account.account_id}-${call_id}-1-ring_trunkline`,
    );
    assert.equal(((await ringing.json()) as { state: string }).state, "playing");
    await eventually(async () => (await fixture.rtp(patient, call_id, 1)).sent > 25);
    const [{ legs, status }] = await patient.callRecords(campaign);
    assert.deepEqual([legs[1].status, status], ["ringing", "ringing"], "not bridged yet");
    await hangUp(patient, call_id);
    await patient.awaitCall(campaign, "canceled");
    const records = await recordsOf(call_id, 2, patient);
    const [agent, called] = [1, 2].map((leg) =>
      records.find(({ channel }) => channel === channelIn(patient, call_id, leg)),
    );
    assert.ok(agent && called && agent.answer > agent.start + 2.5 && called.start >= agent.answer);
  });

  test("the customer sees the requested caller ID", async () => {
    const to_number = customer("hangs_up", 1);
    const cli_number = "8044449999";
    const request = { to_number, from_number: extensions.answers, cli_number };
    await client.awaitCall(await client.call(request), "completed");
    const invite = inviteOf(to_number);
    assert.match(invite ?? "", /^From: .*<sip:8044449999@/m);
    assert.match(invite ?? "", /^P-Asserted-Identity: .*<sip:8044449999@/m);
  });

  test("by default the customer sees the trunk's first caller ID and is dialed in the carrier's format", async () => {
    const to_number = customer("hangs_up", 1);
    const request = { to_number, from_number: extensions.answers };
    await restricted.awaitCall(await restricted.call(request), "completed");
    const invite = inviteOf(to_number);
    assert.match(invite ?? "", /^From: .*<sip:918044441111@/m);
    assert.match(invite ?? "", new RegExp(`^INVITE sip:\\+91${to_number}@`, "m"));
  });

  test("agent and customer have audio both ways, and a hangup over the API ends both legs", async () => {
    const { campaign, call_id } = await talkingTo(client, customer("speaks"), extensions.answers);
    await hangUp(client, call_id);
    const report = await client.awaitCall(campaign, "completed");
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by, report.cost],
      ["answered", "hung_up_by_api", "api", 2],
    );
    for (const leg of [1, 2]) {
      const { status } = await fixture.ari("GET", `/channels/${channelIn(client, call_id, leg)}`);
      assert.equal(status, 404);
    }
  });

  test("a customer's hangup, with or without a reason, ends the call and is reported as the customer's", async () => {
    const numbers = [customer("hangs_up", 2), customer("hangs_up_with_reason", 2)];
    const campaigns = numbers.map((to_number) =>
      client.call({ to_number, from_number: extensions.answers }),
    );
    for (const campaign of await Promise.all(campaigns)) {
      const report = await client.awaitCall(campaign, "completed");
      assert.deepEqual(
        [report.disposition, report.ended_reason, report.ended_by, report.hangup_cause_q850],
        ["answered", "hung_up", "customer", 16],
      );
      const { answered_at, ended_at } = report.legs[1];
      const talked_ms = Date.parse(ended_at) - Date.parse(answered_at);
      assert.equal(report.talk_seconds, Math.round(talked_ms / 1_000));
      assert.deepEqual([report.cost, report.billed_seconds], [2, 120]);
      await assertTimesMatchSwitch(report);
    }
  });

  test("an agent's hangup ends the call and is reported as the agent's", async () => {
    const report = await agentHangsUp("speaks", ({ status }) => status === "completed");
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by, report.cost],
      ["answered", "hung_up", "agent", 2],
    );
    await assertTimesMatchSwitch(report);
  });

  test("an agent's hangup while the customer's phone rings cancels the call and stops the ringing", async () => {
    const report = await agentHangsUp("rings_on", ({ legs }) => legs.length === 2);
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by, report.cost],
      ["canceled", "agent_hung_up", "agent", 1],
    );
    assert.equal(report.legs[1].status, "canceled");
  });

  test("a hangup over the API while the agent's phone rings cancels the call without charge and without calling the customer", async () => {
    const request = { to_number: customer("speaks"), from_number: extensions.rings_on };
    const campaign = await client.call(request);
    await eventually(async () => {
      const [{ legs }] = await client.callRecords(campaign);
      return legs[0]?.status === "ringing";
    });
    const [{ call_id }] = await client.callRecords(campaign);
    await hangUp(client, call_id);
    const report = await client.awaitCall(campaign, "canceled");
    assert.deepEqual(
      [report.ended_reason, report.ended_by, report.cost],
      ["hung_up_by_api", "api", 0],
    );
    assert.deepEqual(
      report.legs.map(({ status }: { status: string }) => status),
      ["canceled"],
    );
  });

  test("the recording of a call can be downloaded as a WAV file with the call's length and audio", async () => {
    const { campaign, call_id } = await talkingTo(client, customer("speaks"), extensions.answers);
    await hangUp(client, call_id);
    const report = await client.awaitCall(campaign, "completed");
    assert.equal(report.recording_url, `/api/v1/calls/${call_id}/recording`);
    const file = await fetch(fixture.api.url + report.recording_url, {
      headers: { authorization: `Bearer ${client.token}` },
    });
    assert.equal(file.headers.get("content-type"), "audio/wav");
    const { length_ms, peak } = readWav(Buffer.from(await file.arrayBuffer()));
    const records = await recordsOf(call_id, 2);
    const ends = records.map(({ end }) => end);
    const talked_ms = 1_000 * (Math.max(...ends) - Math.min(...records.map((leg) => leg.answer)));
    // It starts a moment after the bridge, on a busy machine later, and consists of whole frames.
    assert.ok(length_ms > 300 && length_ms < talked_ms + 100, `${length_ms} of ${talked_ms} ms`);
    assert.ok(peak > 1_000, String(peak));
  });

  test("an account with recording disabled has no recordings", async () => {
    const { campaign, call_id } = await talkingTo(
      unrecorded,
      customer("speaks"),
      extensions.answers,
    );
    await hangUp(unrecorded, call_id);
    const report = await unrecorded.awaitCall(campaign, "completed");
    assert.equal(report.recording_url, null);
    const { status } = await unrecorded.ask("GET", `/api/v1/calls/${call_id}/recording`);
    assert.equal(status, 404);
    const stored = await fixture.ari(
      "GET",
      `/recordings/stored/trk-${unrecorded.account.account_id}-${call_id}_trunkline`,
    );
    assert.equal(stored.status, 404);
  });
});

/** Events take some milliseconds, on a busy machine longer. */
const tolerance_ms = 60_000;

/** Asserts that the call record's times are those of the CDRs, within the delay of events. */
async function assertTimesMatchSwitch(report: Report): Promise<void> {
  const records = await recordsOf(report.call_id, report.legs.length);
  const byChannel = new Map(records.map((record) => [record.channel, record]));
  for (const [i, leg] of report.legs.entries()) {
    const record = byChannel.get(channelIn(client, report.call_id, i + 1))!;
    for (const [shown, written] of [
      [leg.answered_at, record.answer],
      [leg.ended_at, record.end],
    ] as const) {
      const apart_ms = Math.abs(Date.parse(shown) - written * 1_000);
      assert.ok(apart_ms < tolerance_ms, `${leg.role}: ${shown}, ${written}`);
    }
  }
}

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
