// A talk: who is called when, who hears whom, how it ends and what is left of it.
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
let choosy: CallClient;
/** Its customers' phones ring for as long as a busy machine may take. */
let patient: CallClient;

before(async () => {
  // What is heard of an end says more than its record: the connection is not given up because the machine is busy.
  fixture = await openAsteriskFixture({ driver: { ping_ms: 30_000, request_timeout_ms: 60_000 } });
  client = await fixture.client();
  unrecorded = await fixture.client({ calls_recorded: false });
  choosy = await fixture.client();
  patient = await fixture.client({ customer_ring_seconds: 120 });
  await makeTrunk(fixture.app, [fixture.node_id], {
    endpoint: "trunk",
    only_account_id: choosy.account.account_id,
    number_format: "plus_e164",
    caller_ids: ["918044441111", "918044442222"],
  });
  fixture.startLeaders();
});
after(() => fixture.close());

/** Customers of their own, so that no pair meets another: the same far end, another number. */
let customers = 0;
function customer(...conduct: Parameters<typeof farEnd>): string {
  return farEnd(...conduct).replace(/0{3}$/, String(++customers).padStart(3, "0"));
}

/** The INVITE that the carrier got for a number, and when by its log. */
function inviteOf(number: string): string | undefined {
  const parts = fixture.carrier.messages().split(/^-{20,} /m);
  return parts.find((part) => new RegExp(`^INVITE sip:\\+?91${number}@`, "m").test(part));
}

async function hangUp(of: CallClient, callId: number): Promise<void> {
  assert.equal((await of.ask("POST", `/api/v1/calls/${callId}/hangup`)).status, 200);
}

async function talkingTo(of: CallClient, to_number: string, from_number: string) {
  const campaign = await of.call({ to_number, from_number });
  const { call_id } = await of.reported(campaign, "in-progress");
  await fixture.talking(of, call_id, [1, 2]);
  return { campaign, call_id };
}

type Report = Awaited<ReturnType<CallClient["reported"]>>;

/** Of a call whose agent leaves when it is where it should be: on a busy machine it may not be there yet. */
async function agentLeaves(
  conduct: "speaks" | "rings_on",
  isThere: (report: Report) => boolean,
): Promise<Report> {
  let report: Report;
  await eventually(async () => {
    const asked = { to_number: customer(conduct), from_number: extensions.leaves };
    report = await client.reported(await client.call(asked), "completed", "canceled");
    return isThere(report);
  });
  return report;
}

/** They are written a moment after the legs have ended. */
async function recordsOf(callId: number, legs: number, of = client): Promise<SwitchRecord[]> {
  await eventually(() => fixture.records(of, callId).length === legs);
  return fixture.records(of, callId);
}

suite("talks on Asterisk", { concurrency: true }, () => {
  test("the agent hears it ring while the customer is called, which is only after the agent answered", async () => {
    const asked = { to_number: customer("rings_on"), from_number: extensions.answers_late };
    const campaign = await patient.call(asked);
    const [{ call_id }] = await patient.reports(campaign);
    await eventually(async () => {
      const [{ legs }] = await patient.reports(campaign);
      return legs[1]?.status === "ringing";
    });
    const ringing = await fixture.ari(
      "GET",
      `/playbacks/trk-${patient.account.account_id}-${call_id}-1-ring_trunkline`,
    );
    assert.equal(((await ringing.json()) as { state: string }).state, "playing");
    await eventually(async () => (await fixture.rtp(patient, call_id, 1)).sent > 25);
    const [{ legs, status }] = await patient.reports(campaign);
    assert.deepEqual([legs[1].status, status], ["ringing", "ringing"], "not bridged as yet");
    await hangUp(patient, call_id);
    await patient.reported(campaign, "canceled");
    const records = await recordsOf(call_id, 2, patient);
    const [agent, called] = [1, 2].map((leg) =>
      records.find(({ channel }) => channel === channelIn(patient, call_id, leg)),
    );
    assert.ok(agent && called && agent.answer > agent.start + 2.5 && called.start >= agent.answer);
  });

  test("the customer is shown the caller id that was asked for", async () => {
    const to_number = customer("hangs_up", 1);
    const cli_number = "8044449999";
    const asked = { to_number, from_number: extensions.answers, cli_number };
    await client.reported(await client.call(asked), "completed");
    const invite = inviteOf(to_number);
    assert.match(invite ?? "", /^From: .*<sip:8044449999@/m);
    assert.match(invite ?? "", /^P-Asserted-Identity: .*<sip:8044449999@/m);
  });

  test("without a caller id the customer is shown the trunk's first, and is dialled in its carrier's form", async () => {
    const to_number = customer("hangs_up", 1);
    const asked = { to_number, from_number: extensions.answers };
    await choosy.reported(await choosy.call(asked), "completed");
    const invite = inviteOf(to_number);
    assert.match(invite ?? "", /^From: .*<sip:918044441111@/m);
    assert.match(invite ?? "", new RegExp(`^INVITE sip:\\+91${to_number}@`, "m"));
  });

  test("agent and customer hear each other, and a hang-up over the API ends both legs", async () => {
    const { campaign, call_id } = await talkingTo(client, customer("speaks"), extensions.answers);
    await hangUp(client, call_id);
    const report = await client.reported(campaign, "completed");
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by, report.cost],
      ["answered", "hung_up_by_api", "api", 2],
    );
    for (const leg of [1, 2]) {
      const { status } = await fixture.ari("GET", `/channels/${channelIn(client, call_id, leg)}`);
      assert.equal(status, 404);
    }
  });

  test("a customer who leaves ends the call, and is told as the one who did, whether saying why or not", async () => {
    const numbers = [customer("hangs_up", 2), customer("hangs_up_with_reason", 2)];
    const campaigns = numbers.map((to_number) =>
      client.call({ to_number, from_number: extensions.answers }),
    );
    for (const campaign of await Promise.all(campaigns)) {
      const report = await client.reported(campaign, "completed");
      assert.deepEqual(
        [report.disposition, report.ended_reason, report.ended_by, report.hangup_cause_q850],
        ["answered", "hung_up", "customer", 16],
      );
      const { answered_at, ended_at } = report.legs[1];
      const talked_ms = Date.parse(ended_at) - Date.parse(answered_at);
      assert.equal(report.talk_seconds, Math.round(talked_ms / 1_000));
      assert.deepEqual([report.cost, report.billed_seconds], [2, 120]);
      await assertLikeSwitch(report);
    }
  });

  test("an agent who leaves ends the call, and is told as the one who did", async () => {
    const report = await agentLeaves("speaks", ({ status }) => status === "completed");
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by, report.cost],
      ["answered", "hung_up", "agent", 2],
    );
    await assertLikeSwitch(report);
  });

  test("an agent who leaves while the customer's phone rings cancels the call, and the ringing stops", async () => {
    const report = await agentLeaves("rings_on", ({ legs }) => legs.length === 2);
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by, report.cost],
      ["canceled", "agent_hung_up", "agent", 1],
    );
    assert.equal(report.legs[1].status, "canceled");
  });

  test("a hang-up over the API while the agent's phone rings cancels the call, unpaid, and no customer is called", async () => {
    const asked = { to_number: customer("speaks"), from_number: extensions.rings_on };
    const campaign = await client.call(asked);
    await eventually(async () => {
      const [{ legs }] = await client.reports(campaign);
      return legs[0]?.status === "ringing";
    });
    const [{ call_id }] = await client.reports(campaign);
    await hangUp(client, call_id);
    const report = await client.reported(campaign, "canceled");
    assert.deepEqual(
      [report.ended_reason, report.ended_by, report.cost],
      ["hung_up_by_api", "api", 0],
    );
    assert.deepEqual(
      report.legs.map(({ status }: { status: string }) => status),
      ["canceled"],
    );
  });

  test("a talk's recording can be downloaded: a WAV as long as the talk, in which somebody speaks", async () => {
    const { campaign, call_id } = await talkingTo(client, customer("speaks"), extensions.answers);
    await hangUp(client, call_id);
    const report = await client.reported(campaign, "completed");
    assert.equal(report.recording_url, `/api/v1/calls/${call_id}/recording`);
    const file = await fetch(fixture.api.url + report.recording_url, {
      headers: { authorization: `Bearer ${client.token}` },
    });
    assert.equal(file.headers.get("content-type"), "audio/wav");
    const { length_ms, peak } = readWav(Buffer.from(await file.arrayBuffer()));
    const records = await recordsOf(call_id, 2);
    const ends = records.map(({ end }) => end);
    const talked_ms = 1_000 * (Math.max(...ends) - Math.min(...records.map((leg) => leg.answer)));
    // It begins a moment after the talk, on a busy machine later, and is written in frames.
    assert.ok(length_ms > 300 && length_ms < talked_ms + 100, `${length_ms} of ${talked_ms} ms`);
    assert.ok(peak > 1_000, String(peak));
  });

  test("an account that wants none has no recordings", async () => {
    const { campaign, call_id } = await talkingTo(
      unrecorded,
      customer("speaks"),
      extensions.answers,
    );
    await hangUp(unrecorded, call_id);
    const report = await unrecorded.reported(campaign, "completed");
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

/** News takes some milliseconds, on a busy machine longer; a wrong time would be off by the talk. */
const news_ms = 60_000;

/** The report's times are those that the switch wrote down, within the time that news takes. */
async function assertLikeSwitch(report: Report): Promise<void> {
  const records = await recordsOf(report.call_id, report.legs.length);
  const byChannel = new Map(records.map((record) => [record.channel, record]));
  for (const [i, leg] of report.legs.entries()) {
    const record = byChannel.get(channelIn(client, report.call_id, i + 1))!;
    for (const [shown, written] of [
      [leg.answered_at, record.answer],
      [leg.ended_at, record.end],
    ] as const) {
      const apart_ms = Math.abs(Date.parse(shown) - written * 1_000);
      assert.ok(apart_ms < news_ms, `${leg.role}: ${shown}, ${written}`);
    }
  }
}

test("after all of these talks the books are right, and Asterisk holds nothing", () =>
  fixture.checkAll());
