// Limits on calls: credit, and the pacing and concurrency of node and trunk.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
  type SwitchRecord,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { makeTrunk } from "../support/telephony-factory.ts";
import { eventually } from "../support/eventually.ts";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";

const legs_per_second = 5;
const calls_max = 3;
const calls = 20;

let fixture: AsteriskFixture;
let crowd: CallClient;

before(async () => {
  fixture = await openAsteriskFixture();
  crowd = await fixture.client();
  await makeTrunk(fixture.app, [fixture.node_id], {
    endpoint: "trunk",
    only_account_id: crowd.account.account_id,
    limits: { calls_per_second: legs_per_second, calls_max },
  });
  fixture.startLeaders();
});
after(() => fixture.close());

async function credits({ ask }: CallClient): Promise<{ available: number; reserved: number }> {
  return (await ask("GET", "/api/v1/credits")).body.call;
}

suite("limits of calls on Asterisk", { concurrency: true }, () => {
  test("each further pulse of a call is paid when it starts", async () => {
    const client = await fixture.client({ call_pulse_seconds: 1, credits: 1_000 });
    const request = { to_number: farEnd("speaks"), from_number: extensions.answers };
    const campaign = await client.call(request);
    const { available, reserved } = await credits(client);
    assert.ok(reserved >= 2 && available + reserved === 1_000);
    const { call_id } = await client.awaitCall(campaign, "in-progress");
    await eventually(async () => (await credits(client)).reserved > 6);
    await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    const report = await client.awaitCall(campaign, "completed");
    assert.deepEqual([report.ended_reason, report.ended_by], ["hung_up_by_api", "api"]);
    const pulses = report.legs.map(
      ({ answered_at, ended_at }: { answered_at: string; ended_at: string }) =>
        Math.ceil((Date.parse(ended_at) - Date.parse(answered_at)) / 1_000),
    );
    assert.equal(report.cost, pulses[0] + pulses[1]);
    assert.ok(report.cost > 4 && report.billed_seconds === report.cost, String(report.cost));
    assert.deepEqual(await credits(client), { available: 1_000 - report.cost, reserved: 0 });
  });

  test("a call without credit for the next pulse ends with the paid one", async () => {
    const client = await fixture.client({ call_pulse_seconds: 5, credits: 4 });
    const request = { to_number: farEnd("speaks"), from_number: extensions.answers };
    const report = await client.awaitCall(await client.call(request), "completed");
    assert.deepEqual([report.ended_reason, report.ended_by], ["credit", "system"]);
    assert.deepEqual([report.cost, report.billed_seconds], [4, 20]);
    const [{ answered_at, ended_at }] = report.legs;
    const talked_ms = Date.parse(ended_at) - Date.parse(answered_at);
    // The paid time is never cut; a busy machine may end the call later.
    assert.ok(talked_ms > 9_500, String(talked_ms));
    assert.deepEqual(await credits(client), { available: 0, reserved: 0 });
  });

  test("twenty concurrent calls never exceed their trunk's limits of new legs per second and of calls", async () => {
    const campaigns = Array.from({ length: calls }, (_, i) =>
      crowd.call({
        to_number: refusing(486).slice(0, -2) + String(i).padStart(2, "0"),
        from_number: `98765000${String(i).padStart(2, "0")}`,
      }),
    );
    for (const campaign of await Promise.all(campaigns)) await crowd.awaitCall(campaign, "busy");
    const own = new RegExp(`^trk-${crowd.account.account_id}-`);
    const recordsOfCrowd = () => fixture.records().filter(({ call }) => own.test(call));
    await eventually(() => recordsOfCrowd().length === 2 * calls);
    assertPaced(recordsOfCrowd());
    assertConcurrency(recordsOfCrowd());
  });
});

/** Any N legs take at least N / rate seconds, with slack because a busy switch starts the first ones late. */
function assertPaced(records: readonly SwitchRecord[]): void {
  const slack_s = 5;
  const starts = records.map(({ start }) => start).toSorted((a, b) => a - b);
  for (const [i, from] of starts.entries()) {
    for (const [more, to] of starts.slice(i).entries()) {
      const least_s = more / legs_per_second - slack_s;
      assert.ok(to - from >= least_s, `${more + 1} legs within ${to - from} s`);
    }
  }
}

/** Counts the concurrent calls at the start of each call. */
function assertConcurrency(records: readonly SwitchRecord[]): void {
  const spans = [...Map.groupBy(records, ({ call }) => call).values()].map((legs) => ({
    start: Math.min(...legs.map(({ start }) => start)),
    end: Math.max(...legs.map(({ end }) => end)),
  }));
  for (const { start } of spans) {
    const at_once = spans.filter((span) => span.start <= start && start < span.end).length;
    assert.ok(at_once <= calls_max, `${at_once} calls at ${start}`);
  }
}

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
