// Keys pressed during a call, and the transfers that they start.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { eventually } from "../support/eventually.ts";
import { farEnd } from "../support/sipp/outcomes.ts";

let fixture: AsteriskFixture;
let client: CallClient;
/** Its calls are not recorded: without audio, SIPp sends each key press once. */
let quiet: CallClient;

before(async () => {
  fixture = await openAsteriskFixture();
  const keys = { "1": "answers_too", "4": "speaks", "6": "rings_on", "8": "unregistered" } as const;
  client = await fixture.client({ agent_ring_seconds: 10, keys });
  quiet = await fixture.client({ calls_recorded: false, keys });
  fixture.startLeaders();
});
after(() => fixture.close());

let customers = 0;
function customer(...behavior: Parameters<typeof farEnd>): string {
  return farEnd(...behavior).replace(/0{3}$/, String(++customers).padStart(3, "0"));
}

type Report = Awaited<ReturnType<CallClient["awaitCall"]>>;

/** Waits until the campaign's call record has an event of this type, and returns the record. */
async function recordWith(of: CallClient, campaign: number, type: string): Promise<Report> {
  let report: Report;
  await eventually(async () => {
    [report] = await of.callRecords(campaign);
    return report.events.some((event: { type: string }) => event.type === type);
  });
  return report;
}

/** Waits until leg number `leg` has this status, and returns the call record. */
async function legReaches(
  of: CallClient,
  campaign: number,
  leg: number,
  status: string,
): Promise<Report> {
  let report: Report;
  await eventually(async () => {
    [report] = await of.callRecords(campaign);
    return report.legs[leg - 1]?.status === status;
  });
  return report;
}

async function hangUp(of: CallClient, { call_id, campaign_id }: Report): Promise<Report> {
  assert.equal((await of.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  return of.awaitCall(campaign_id, "completed");
}

const typesOf = ({ events }: Report): string[] => events.map(({ type }: { type: string }) => type);

/** Asserts that the customer talks with the extension and the agent's leg has ended; then ends the call. */
async function assertTransferred(
  of: CallClient,
  campaign: number,
  extension: string,
  by: string,
): Promise<void> {
  await recordWith(of, campaign, "call.transferred");
  const report = await legReaches(of, campaign, 1, "completed");
  await fixture.talking(of, report.call_id, [2, 3]);
  const over = await hangUp(of, report);
  const transferring = over.events.find(
    ({ type }: { type: string }) => type === "call.transferring",
  );
  assert.deepEqual([transferring.by, transferring.to], [by, extension]);
  assert.deepEqual(
    over.legs.map((leg: { role: string; status: string }) => [leg.role, leg.status]),
    [
      ["agent", "completed"],
      ["customer", "completed"],
      ["transfer", "completed"],
    ],
  );
  assert.deepEqual([over.legs[2].number, over.cost, over.ended_by], [extension, 3, "api"]);
}

suite("keys on Asterisk", { concurrency: true }, () => {
  test("the customer's keys are reported in order", async () => {
    const request = { to_number: customer("presses_1_9_hash"), from_number: extensions.listens };
    const campaign = await quiet.call(request);
    await eventually(async () => (await quiet.callRecords(campaign))[0].dtmf.length === 3);
    const report = await hangUp(quiet, (await quiet.callRecords(campaign))[0]);
    assert.equal(report.dtmf, "19#");
    const pressed = report.events.filter(({ type }: { type: string }) => type === "call.dtmf");
    assert.deepEqual(
      pressed.map((event: { leg: string; digit: string }) => `${event.leg} ${event.digit}`),
      ["customer 1", "customer 9", "customer #"],
    );
  });

  test("the agent's star and key transfer the customer to the key's extension, with audio both ways", async () => {
    const campaign = await client.call({
      to_number: customer("speaks"),
      from_number: extensions.presses_star_1,
      extension_for_transfer: "1",
    });
    await assertTransferred(client, campaign, extensions.answers_too, "agent");
  });

  test("the customer's key transfers to its extension, with audio both ways", async () => {
    const campaign = await quiet.call({
      to_number: customer("presses", 2, "4"),
      from_number: extensions.listens,
      extension_for_dis: "4",
    });
    await assertTransferred(quiet, campaign, extensions.speaks, "customer");
  });

  test("a transfer over the API connects the customer to the extension", async () => {
    const request = { to_number: customer("speaks"), from_number: extensions.answers };
    const campaign = await client.call(request);
    const { call_id } = await client.awaitCall(campaign, "in-progress");
    const body = { extension: extensions.answers_as_well };
    const { status } = await client.ask("POST", `/api/v1/calls/${call_id}/transfer`, body);
    assert.equal(status, 200);
    await assertTransferred(client, campaign, extensions.answers_as_well, "api");
  });

  test("the extension's hangup ends a transferred call", async () => {
    const request = { to_number: customer("speaks"), from_number: extensions.answers };
    const campaign = await client.call(request);
    const { call_id } = await client.awaitCall(campaign, "in-progress");
    const body = { extension: extensions.hangs_up };
    await client.ask("POST", `/api/v1/calls/${call_id}/transfer`, body);
    const report = await client.awaitCall(campaign, "completed");
    assert.ok(typesOf(report).includes("call.transferred"));
    assert.deepEqual([report.ended_reason, report.ended_by], ["hung_up", "agent"]);
  });

  test("a key without an extension and a key that the call does not allow do nothing", async () => {
    const calls = [
      // No extension has this key.
      { to_number: customer("presses_by_info", 1, "7"), extension_for_dis: "7" },
      // An extension has this key, but the call allows another.
      { to_number: customer("presses_by_info", 1, "4"), extension_for_dis: "1" },
      // Only the agent may transfer with star.
      { to_number: customer("presses_star_and", 1, "4"), extension_for_transfer: "4" },
    ];
    const ended = calls.map(async (request) => {
      const campaign = await client.call({ ...request, from_number: extensions.speaks });
      const { call_id } = await recordWith(client, campaign, "call.dtmf");
      await fixture.talking(client, call_id, [1, 2]);
      const report = await hangUp(client, (await client.callRecords(campaign))[0]);
      assert.equal(report.legs.length, 2);
      assert.ok(!typesOf(report).includes("call.transferring"));
    });
    await Promise.all(ended);
  });

  test("an unanswered transfer keeps agent and customer connected", async () => {
    const calls = [
      { key: "6", status: "no-answer" },
      { key: "8", status: "failed" },
    ];
    const ended = calls.map(async ({ key, status }) => {
      const campaign = await client.call({
        to_number: customer("presses_by_info", 1, key),
        from_number: extensions.speaks,
        extension_for_dis: key,
      });
      const report = await legReaches(client, campaign, 3, status);
      assert.equal(report.status, "in-progress");
      await fixture.talking(client, report.call_id, [1, 2]);
      const over = await hangUp(client, report);
      assert.ok(!typesOf(over).includes("call.transferred"));
      assert.deepEqual([over.ended_reason, over.cost], ["hung_up_by_api", 2]);
    });
    await Promise.all(ended);
  });
});

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
