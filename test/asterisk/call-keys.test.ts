// Keys pressed in a talk, and where they lead.
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
/** Its calls are not recorded: nothing sounds where nobody speaks, so that sipp's keys stay single. */
let quiet: CallClient;

before(async () => {
  fixture = await openAsteriskFixture();
  const keys = { "1": "answers_too", "4": "speaks", "6": "rings_on", "8": "unregistered" } as const;
  client = await fixture.client({ agent_ring_seconds: 5, keys });
  quiet = await fixture.client({ calls_recorded: false, keys });
  fixture.startLeaders();
});
after(() => fixture.close());

let customers = 0;
function customer(...conduct: Parameters<typeof farEnd>): string {
  return farEnd(...conduct).replace(/0{3}$/, String(++customers).padStart(3, "0"));
}

type Report = Awaited<ReturnType<CallClient["reported"]>>;

/** The campaign's report once it tells of such an event. */
async function told(of: CallClient, campaign: number, type: string): Promise<Report> {
  let report: Report;
  await eventually(async () => {
    [report] = await of.reports(campaign);
    return report.events.some((event: { type: string }) => event.type === type);
  });
  return report;
}

/** The campaign's report once its leg, 1 for the first, stands so. */
async function legIs(
  of: CallClient,
  campaign: number,
  leg: number,
  status: string,
): Promise<Report> {
  let report: Report;
  await eventually(async () => {
    [report] = await of.reports(campaign);
    return report.legs[leg - 1]?.status === status;
  });
  return report;
}

async function hangUp(of: CallClient, { call_id, campaign_id }: Report): Promise<Report> {
  assert.equal((await of.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  return of.reported(campaign_id, "completed");
}

const typesOf = ({ events }: Report): string[] => events.map(({ type }: { type: string }) => type);

/** The customer and an extension talk, the agent's leg is over; ends the call and returns its report. */
async function assertPutThrough(
  of: CallClient,
  campaign: number,
  extension: string,
  by: string,
): Promise<void> {
  await told(of, campaign, "call.transferred");
  const report = await legIs(of, campaign, 1, "completed");
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
  test("the customer's keys are reported in their order", async () => {
    const asked = { to_number: customer("presses_1_9_hash"), from_number: extensions.listens };
    const campaign = await quiet.call(asked);
    await eventually(async () => (await quiet.reports(campaign))[0].dtmf.length === 3);
    const report = await hangUp(quiet, (await quiet.reports(campaign))[0]);
    assert.equal(report.dtmf, "19#");
    const pressed = report.events.filter(({ type }: { type: string }) => type === "call.dtmf");
    assert.deepEqual(
      pressed.map((event: { leg: string; digit: string }) => `${event.leg} ${event.digit}`),
      ["customer 1", "customer 9", "customer #"],
    );
  });

  test("the agent's star and key put the customer through to the key's extension, and the two hear each other", async () => {
    const campaign = await client.call({
      to_number: customer("speaks"),
      from_number: extensions.presses_star_1,
      extension_for_transfer: "1",
    });
    await assertPutThrough(client, campaign, extensions.answers_too, "agent");
  });

  test("the customer's key leads to its extension, and the two hear each other", async () => {
    const campaign = await quiet.call({
      to_number: customer("presses", 2, "4"),
      from_number: extensions.listens,
      extension_for_dis: "4",
    });
    await assertPutThrough(quiet, campaign, extensions.speaks, "customer");
  });

  test("a transfer over the API puts the customer through to the extension", async () => {
    const asked = { to_number: customer("speaks"), from_number: extensions.answers };
    const campaign = await client.call(asked);
    const { call_id } = await client.reported(campaign, "in-progress");
    const body = { extension: extensions.answers_as_well };
    const { status } = await client.ask("POST", `/api/v1/calls/${call_id}/transfer`, body);
    assert.equal(status, 200);
    await assertPutThrough(client, campaign, extensions.answers_as_well, "api");
  });

  test("the extension's hang-up ends the call of the customer it was put through to", async () => {
    const asked = { to_number: customer("speaks"), from_number: extensions.answers };
    const campaign = await client.call(asked);
    const { call_id } = await client.reported(campaign, "in-progress");
    const body = { extension: extensions.leaves };
    await client.ask("POST", `/api/v1/calls/${call_id}/transfer`, body);
    const report = await client.reported(campaign, "completed");
    assert.ok(typesOf(report).includes("call.transferred"));
    assert.deepEqual([report.ended_reason, report.ended_by], ["hung_up", "agent"]);
  });

  test("a key that leads nowhere, and one that was not agreed on, do nothing", async () => {
    const calls = [
      // No extension has this key.
      { to_number: customer("presses_by_info", 1, "7"), extension_for_dis: "7" },
      // An extension has it, but the call was asked for with another.
      { to_number: customer("presses_by_info", 1, "4"), extension_for_dis: "1" },
      // What the agent may do with a star, the customer may not.
      { to_number: customer("presses_star_and", 1, "4"), extension_for_transfer: "4" },
    ];
    const ended = calls.map(async (asked) => {
      const campaign = await client.call({ ...asked, from_number: extensions.speaks });
      const { call_id } = await told(client, campaign, "call.dtmf");
      await fixture.talking(client, call_id, [1, 2]);
      const report = await hangUp(client, (await client.reports(campaign))[0]);
      assert.equal(report.legs.length, 2);
      assert.ok(!typesOf(report).includes("call.transferring"));
    });
    await Promise.all(ended);
  });

  test("a transfer that nobody answers leaves the two talking", async () => {
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
      const report = await legIs(client, campaign, 3, status);
      assert.equal(report.status, "in-progress");
      await fixture.talking(client, report.call_id, [1, 2]);
      const over = await hangUp(client, report);
      assert.ok(!typesOf(over).includes("call.transferred"));
      assert.deepEqual([over.ended_reason, over.cost], ["hung_up_by_api", 2]);
    });
    await Promise.all(ended);
  });
});

test("after all of these keys the books are right, and Asterisk holds nothing", () =>
  fixture.checkAll());
