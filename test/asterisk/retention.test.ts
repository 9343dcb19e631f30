// What is kept at the switch goes with what is kept in the database.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { workJobs } from "../../server/engine/work-jobs.ts";
import { applyRetention } from "../../server/retention/apply-retention.ts";
import { erasePerson } from "../../server/retention/erase-person.ts";
import { forgetRecordings } from "../../server/retention/forget-recordings.ts";
import { extensions, openAsteriskScene, type AsteriskScene } from "../support/asterisk-scene.ts";
import type { CallDesk } from "../support/call-desk.ts";
import { relay } from "../support/callback-makers.ts";
import { eventually } from "../support/eventually.ts";
import { farEnd } from "../support/sipp/outcomes.ts";

const day_ms = 86_400_000;
const never = new AbortController().signal;

let scene: AsteriskScene;
let desk: CallDesk;

before(async () => {
  // The switch is not taken for silent because the machine is busy.
  scene = await openAsteriskScene({ driver: { request_timeout_ms: 60_000 } });
  desk = await scene.desk();
});
after(() => scene.close());

/** The id of a call that was recorded and is over. */
async function recordedCall(to_number: string, from_number: string): Promise<number> {
  const campaign = await desk.call({ to_number, from_number });
  const { call_id } = await desk.reported(campaign, "in-progress");
  await scene.talking(desk, call_id, [1, 2]);
  assert.equal((await desk.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  const { recording_url } = await desk.reported(campaign, "completed");
  assert.equal(recording_url, `/api/v1/calls/${call_id}/recording`);
  return call_id;
}

/** As what the switch answers who asks for the recording: 200 or 404. */
async function stored(callId: number): Promise<number> {
  const name = `trk-${desk.account.account_id}-${callId}_trunkline`;
  return (await scene.ari("GET", `/recordings/stored/${name}`)).status;
}

async function work(): Promise<void> {
  await relay(scene.app);
  scene.api.clock.advance(60_000);
  while ((await workJobs(scene.app, { "retention.erase_person": erasePerson }, never)) > 0);
}

async function reachSwitchAt(ari_url: string): Promise<void> {
  await scene.app.db.query
    .updateTable("voice_nodes")
    .set({ ari_url })
    .where("id", "=", scene.node_id)
    .execute();
}

test("an erasure takes a person's recording from the switch, as soon as that answers; retention takes the others', and then their calls", async () => {
  const leaders = scene.startLeaders();
  const numbers = [1, 2].map((n) => farEnd("speaks").replace(/0{3}$/, `00${n}`));
  const [theirs, other] = await Promise.all([
    recordedCall(numbers[0]!, extensions.answers),
    recordedCall(numbers[1]!, extensions.answers_too),
  ]);
  await scene.checkAll();
  await leaders.stop();
  assert.deepEqual([await stored(theirs), await stored(other)], [200, 200]);

  const asked = await desk.ask("POST", "/api/v1/erasures", { phone_number: numbers[0] });
  assert.equal(asked.status, 202, asked.text);
  const erasure = async () => (await desk.ask("GET", `/api/v1/erasures/${asked.body.id}`)).body;
  // Nothing listens there.
  await reachSwitchAt("http://127.0.0.1:1/ari");
  await eventually(async () => {
    await work();
    return (await erasure()).waiting_for === "recording";
  });
  const { body: emptied } = await desk.ask("GET", `/api/v1/calls/${theirs}`);
  assert.equal(emptied.to_number, "");
  assert.equal(await stored(theirs), 200);
  await reachSwitchAt(scene.asterisk().ari_url);
  await eventually(async () => {
    await work();
    return (await erasure()).state === "done";
  });
  assert.equal((await erasure()).counts.recordings, 1);
  assert.deepEqual([await stored(theirs), await stored(other)], [404, 200]);

  const retention = { recordings_days: 1, calls_days: 2, events_days: null };
  assert.equal((await desk.ask("PATCH", "/api/v1/account", { retention })).status, 200);
  scene.api.clock.advance(1.5 * day_ms);
  assert.equal(await forgetRecordings(scene.app, never), 1);
  assert.equal(await stored(other), 404);
  assert.equal((await desk.ask("GET", `/api/v1/calls/${other}/recording`)).status, 404);
  assert.equal((await desk.ask("GET", `/api/v1/calls/${other}`)).body.recording_url, null);
  scene.api.clock.advance(day_ms);
  assert.equal(await applyRetention(scene.app, never), 2);
  assert.deepEqual((await desk.ask("GET", "/api/v1/calls")).body.data, []);
});
