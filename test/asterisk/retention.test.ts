// Erasure and retention delete recordings at the switch along with the rows in the database.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { workJobs } from "../../server/engine/work-jobs.ts";
import { applyRetention } from "../../server/retention/apply-retention.ts";
import { erasePerson } from "../../server/retention/erase-person.ts";
import { purgeRecordings } from "../../server/retention/purge-recordings.ts";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { relay } from "../support/callback-factory.ts";
import { eventually } from "../support/eventually.ts";
import { farEnd } from "../support/sipp/outcomes.ts";

const day_ms = 86_400_000;
const never = new AbortController().signal;

let fixture: AsteriskFixture;
let client: CallClient;

before(async () => {
  // A generous time-out: a busy machine must not lose the connection.
  fixture = await openAsteriskFixture({ driver: { request_timeout_ms: 60_000 } });
  client = await fixture.client();
});
after(() => fixture.close());

/** Makes a recorded call, ends it, and returns its ID. */
async function recordedCall(to_number: string, from_number: string): Promise<number> {
  const campaign = await client.call({ to_number, from_number });
  const { call_id } = await client.awaitCall(campaign, "in-progress");
  await fixture.talking(client, call_id, [1, 2]);
  assert.equal((await client.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  const { recording_url } = await client.awaitCall(campaign, "completed");
  assert.equal(recording_url, `/api/v1/calls/${call_id}/recording`);
  return call_id;
}

/** Returns the switch's status for the recording: 200 or 404. */
async function recordingStatus(callId: number): Promise<number> {
  const name = `trk-${client.account.account_id}-${callId}_trunkline`;
  return (await fixture.ari("GET", `/recordings/stored/${name}`)).status;
}

async function work(): Promise<void> {
  await relay(fixture.app);
  fixture.api.clock.advance(60_000);
  while ((await workJobs(fixture.app, { "retention.erase_person": erasePerson }, never)) > 0);
}

async function reachSwitchAt(ari_url: string): Promise<void> {
  await fixture.app.db.query
    .updateTable("voice_nodes")
    .set({ ari_url })
    .where("id", "=", fixture.node_id)
    .execute();
}

test("erasure deletes a person's recording from the switch once it responds; retention deletes the others and then their calls", async () => {
  const leaders = fixture.startLeaders();
  const numbers = [1, 2].map((n) => farEnd("speaks").replace(/0{3}$/, `00${n}`));
  const [theirs, other] = await Promise.all([
    recordedCall(numbers[0]!, extensions.answers),
    recordedCall(numbers[1]!, extensions.answers_too),
  ]);
  await fixture.checkAll();
  await leaders.stop();
  assert.deepEqual([await recordingStatus(theirs), await recordingStatus(other)], [200, 200]);

  const requested = await client.ask("POST", "/api/v1/erasures", { phone_number: numbers[0] });
  assert.equal(requested.status, 202, requested.text);
  const erasure = async () =>
    (await client.ask("GET", `/api/v1/erasures/${requested.body.id}`)).body;
  // No process listens on this port.
  await reachSwitchAt("http://127.0.0.1:1/ari");
  await eventually(async () => {
    await work();
    return (await erasure()).waiting_for === "recording";
  });
  const { body: emptied } = await client.ask("GET", `/api/v1/calls/${theirs}`);
  assert.equal(emptied.to_number, "");
  assert.equal(await recordingStatus(theirs), 200);
  await reachSwitchAt(fixture.asterisk().ari_url);
  await eventually(async () => {
    await work();
    return (await erasure()).state === "done";
  });
  assert.equal((await erasure()).counts.recordings, 1);
  assert.deepEqual([await recordingStatus(theirs), await recordingStatus(other)], [404, 200]);

  const retention = { recordings_days: 1, calls_days: 2, events_days: null };
  assert.equal((await client.ask("PATCH", "/api/v1/account", { retention })).status, 200);
  fixture.api.clock.advance(1.5 * day_ms);
  assert.equal(await purgeRecordings(fixture.app, never), 1);
  assert.equal(await recordingStatus(other), 404);
  assert.equal((await client.ask("GET", `/api/v1/calls/${other}/recording`)).status, 404);
  assert.equal((await client.ask("GET", `/api/v1/calls/${other}`)).body.recording_url, null);
  fixture.api.clock.advance(day_ms);
  await applyRetention(fixture.app, never);
  assert.deepEqual((await client.ask("GET", "/api/v1/calls")).body.data, []);
});
