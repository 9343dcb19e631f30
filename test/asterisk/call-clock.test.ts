// When calls are placed, by a clock that the test sets.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { setCalling } from "../support/telephony-factory.ts";
import { eventually } from "../support/eventually.ts";

let fixture: AsteriskFixture;

before(async () => {
  fixture = await openAsteriskFixture();
  fixture.api.clock.set("2027-03-01T12:00:00Z");
  fixture.startLeaders();
});
after(() => fixture.close());

let customers = 0;

/** A call for a moment (UTC), from an agent whose phone is busy: it is over as soon as it was placed. */
function callAt(client: CallClient, at: string): Promise<number> {
  const to_number = `98765${String(++customers).padStart(5, "0")}`;
  return client.call({ to_number, from_number: extensions.busy, schedulled_at: at });
}

/** The leader has looked at what is due since the clock was set: it has placed a call of another account. */
async function leaderLooked(): Promise<void> {
  const other = await fixture.client();
  const to_number = `98765${String(++customers).padStart(5, "0")}`;
  await other.reported(await other.call({ to_number, from_number: extensions.busy }), "busy");
}

async function assertDialled(client: CallClient, campaign: number): Promise<void> {
  const { call_id } = await client.reported(campaign, "busy");
  await eventually(() => fixture.records(client, call_id).length === 1);
}

async function assertNightWindow(client: CallClient, campaign: number): Promise<void> {
  const report = await client.reported(campaign, "canceled");
  assert.deepEqual(
    [report.disposition, report.ended_reason, report.ended_by, report.cost, report.legs],
    ["canceled", "night_window", "system", 0, []],
  );
  assert.deepEqual(fixture.records(client, report.call_id), []);
}

async function assertWaits(client: CallClient, campaign: number): Promise<void> {
  await leaderLooked();
  const [report] = await client.reports(campaign);
  assert.deepEqual([report.status, report.legs], ["queued", []]);
  assert.deepEqual(fixture.records(client, report.call_id), []);
}

test("a scheduled call is dialled when its moment has come, and not before", async () => {
  const client = await fixture.client();
  const campaign = await callAt(client, "2027-03-02T06:00:00Z");
  await assertWaits(client, campaign);
  fixture.api.clock.set("2027-03-02T05:59:59.999Z");
  await assertWaits(client, campaign);
  fixture.api.clock.set("2027-03-02T06:00:00.000Z");
  await assertDialled(client, campaign);
});

async function assertWindow(opens: string, closes: string): Promise<void> {
  const client = await makeNewYork();
  const ahead = (instant: string, ms: number) => new Date(Date.parse(instant) - ms).toISOString();
  // Who schedules it while night calling is allowed may find it forbidden when the time comes.
  await setCalling(fixture.app, client.account, { night_calling: true });
  const too_early = await callAt(client, ahead(opens, 1));
  const first = await callAt(client, ahead(opens, 0));
  await setCalling(fixture.app, client.account, { night_calling: false });
  const last = await callAt(client, ahead(closes, 2));
  const late = await callAt(client, ahead(closes, 1));
  const { clock } = fixture.api;
  clock.set(ahead(opens, 1));
  await assertNightWindow(client, too_early);
  clock.set(ahead(opens, 0));
  await assertDialled(client, first);
  clock.set(ahead(closes, 2));
  await assertDialled(client, last);
  // It was due in time, and nobody had come to it.
  clock.set(ahead(closes, 0));
  await assertNightWindow(client, late);
}

test("calls are placed from the window's first instant to before its last, by the wall clock", () =>
  assertWindow("2027-03-13T14:00:00Z", "2027-03-14T02:00:00Z"));

test("on the day on which clocks go forward the window is an hour earlier, at both its ends", () =>
  assertWindow("2027-03-14T13:00:00Z", "2027-03-15T01:00:00Z"));

/** Calls from 09:00 to 21:00. */
function makeNewYork(): Promise<CallClient> {
  return fixture.client({
    time_zone: "America/New_York",
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
  });
}

test("after all of this the books are right, and Asterisk holds nothing", () => fixture.checkAll());
