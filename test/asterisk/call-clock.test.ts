// When calls are placed, with a clock that the test sets.
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

/** Schedules a call (UTC) from an agent whose phone is busy, so that it ends as soon as it is placed. */
function callAt(client: CallClient, at: string): Promise<number> {
  const to_number = `21255${String(++customers).padStart(5, "0")}`;
  return client.call({ to_number, from_number: extensions.busy, schedulled_at: at });
}

/** Waits until the leader has claimed due calls since the clock was set: it has placed another account's. */
async function leaderClaimed(): Promise<void> {
  const other = await fixture.client();
  const to_number = `21255${String(++customers).padStart(5, "0")}`;
  await other.awaitCall(await other.call({ to_number, from_number: extensions.busy }), "busy");
}

async function assertDialed(client: CallClient, campaign: number): Promise<void> {
  const { call_id } = await client.awaitCall(campaign, "busy");
  await eventually(() => fixture.records(client, call_id).length === 1);
}

async function assertNightWindow(client: CallClient, campaign: number): Promise<void> {
  const report = await client.awaitCall(campaign, "canceled");
  assert.deepEqual(
    [report.disposition, report.ended_reason, report.ended_by, report.cost, report.legs],
    ["canceled", "night_window", "system", 0, []],
  );
  assert.deepEqual(fixture.records(client, report.call_id), []);
}

async function assertQueued(client: CallClient, campaign: number): Promise<void> {
  await leaderClaimed();
  const [report] = await client.callRecords(campaign);
  assert.deepEqual([report.status, report.legs], ["queued", []]);
  assert.deepEqual(fixture.records(client, report.call_id), []);
}

test("a scheduled call is dialed at its time and not before", async () => {
  const client = await fixture.client();
  const campaign = await callAt(client, "2027-03-02T06:00:00Z");
  await assertQueued(client, campaign);
  fixture.api.clock.set("2027-03-02T05:59:59.999Z");
  await assertQueued(client, campaign);
  fixture.api.clock.set("2027-03-02T06:00:00.000Z");
  await assertDialed(client, campaign);
});

async function assertWindow(opens: string, closes: string): Promise<void> {
  const client = await openNewYork();
  const ahead = (instant: string, ms: number) => new Date(Date.parse(instant) - ms).toISOString();
  // Schedule while night calling is allowed, then forbid it.
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
  await assertDialed(client, first);
  clock.set(ahead(closes, 2));
  await assertDialed(client, last);
  // It was due in time, but no leader had claimed it.
  clock.set(ahead(closes, 0));
  await assertNightWindow(client, late);
}

test("calls are placed from the first instant of the calling window until before its last, by local time", () =>
  assertWindow("2027-03-13T14:00:00Z", "2027-03-14T02:00:00Z"));

test("on the day when clocks go forward, the calling window is an hour earlier at both ends", () =>
  assertWindow("2027-03-14T13:00:00Z", "2027-03-15T01:00:00Z"));

/** Opens an account whose calling window is 09:00 to 21:00 in New York, where its customers are too. */
function openNewYork(): Promise<CallClient> {
  return fixture.client({
    time_zone: "America/New_York",
    country_code: "1",
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
  });
}

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
