// When calls are placed, by a clock that the test sets.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { extensions, openAsteriskScene, type AsteriskScene } from "../support/asterisk-scene.ts";
import type { CallDesk } from "../support/call-desk.ts";
import { setCalling } from "../support/call-makers.ts";
import { eventually } from "../support/eventually.ts";

let scene: AsteriskScene;

before(async () => {
  scene = await openAsteriskScene();
  scene.api.clock.set("2027-03-01T12:00:00Z");
  scene.startLeaders();
});
after(() => scene.close());

let customers = 0;

/** A call for a moment (UTC), from an agent whose phone is busy: it is over as soon as it was placed. */
function callAt(desk: CallDesk, at: string): Promise<number> {
  const to_number = `98765${String(++customers).padStart(5, "0")}`;
  return desk.call({ to_number, from_number: extensions.busy, schedulled_at: at });
}

/** The leader has looked at what is due since the clock was set: it has placed a call of another account. */
async function leaderLooked(): Promise<void> {
  const other = await scene.desk();
  const to_number = `98765${String(++customers).padStart(5, "0")}`;
  await other.reported(await other.call({ to_number, from_number: extensions.busy }), "busy");
}

async function assertDialled(desk: CallDesk, campaign: number): Promise<void> {
  const { call_id } = await desk.reported(campaign, "busy");
  await eventually(() => scene.records(desk, call_id).length === 1);
}

async function assertNightWindow(desk: CallDesk, campaign: number): Promise<void> {
  const report = await desk.reported(campaign, "canceled");
  assert.deepEqual(
    [report.disposition, report.ended_reason, report.ended_by, report.cost, report.legs],
    ["canceled", "night_window", "system", 0, []],
  );
  assert.deepEqual(scene.records(desk, report.call_id), []);
}

async function assertWaits(desk: CallDesk, campaign: number): Promise<void> {
  await leaderLooked();
  const [report] = await desk.reports(campaign);
  assert.deepEqual([report.status, report.legs], ["queued", []]);
  assert.deepEqual(scene.records(desk, report.call_id), []);
}

test("a scheduled call is dialled when its moment has come, and not before", async () => {
  const desk = await scene.desk();
  const campaign = await callAt(desk, "2027-03-02T06:00:00Z");
  await assertWaits(desk, campaign);
  scene.api.clock.set("2027-03-02T05:59:59.999Z");
  await assertWaits(desk, campaign);
  scene.api.clock.set("2027-03-02T06:00:00.000Z");
  await assertDialled(desk, campaign);
});

async function assertWindow(opens: string, closes: string): Promise<void> {
  const desk = await makeNewYork();
  const ahead = (instant: string, ms: number) => new Date(Date.parse(instant) - ms).toISOString();
  // Who schedules it while night calling is allowed may find it forbidden when the time comes.
  await setCalling(scene.app, desk.account, { night_calling: true });
  const too_early = await callAt(desk, ahead(opens, 1));
  const first = await callAt(desk, ahead(opens, 0));
  await setCalling(scene.app, desk.account, { night_calling: false });
  const last = await callAt(desk, ahead(closes, 2));
  const late = await callAt(desk, ahead(closes, 1));
  const { clock } = scene.api;
  clock.set(ahead(opens, 1));
  await assertNightWindow(desk, too_early);
  clock.set(ahead(opens, 0));
  await assertDialled(desk, first);
  clock.set(ahead(closes, 2));
  await assertDialled(desk, last);
  // It was due in time, and nobody had come to it.
  clock.set(ahead(closes, 0));
  await assertNightWindow(desk, late);
}

test("calls are placed from the window's first instant to before its last, by the wall clock", () =>
  assertWindow("2027-03-13T14:00:00Z", "2027-03-14T02:00:00Z"));

test("on the day on which clocks go forward the window is an hour earlier, at both its ends", () =>
  assertWindow("2027-03-14T13:00:00Z", "2027-03-15T01:00:00Z"));

/** Calls from 09:00 to 21:00. */
function makeNewYork(): Promise<CallDesk> {
  return scene.desk({
    time_zone: "America/New_York",
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
  });
}

test("after all of this the books are right, and Asterisk holds nothing", () => scene.checkAll());
