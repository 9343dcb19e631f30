// What is kept at the switch goes with what is kept in the database.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { workJobs } from "../../server/engine/work-jobs.ts";
import { applyRetention } from "../../server/retention/apply-retention.ts";
import { erasePerson } from "../../server/retention/erase-person.ts";
import { forgetRecordings } from "../../server/retention/forget-recordings.ts";
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
  // The switch is not taken for silent because the machine is busy.
  fixture = await openAsteriskFixture({ driver: { request_timeout_ms: 60_000 } });
  client = await fixture.client();
});
after(() => fixture.close());

/** The id of a call that was recorded and is over. */
async function recordedCall(to_number: string, from_number: string): Promise<number> {
  const campaign = await client.call({ to_number, from_number });
  const { call_id } = await client.reported(campaign, "in-progress");
  await fixture.talking(client, call_id, [1, 2]);
  assert.equal((await client.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  const { recording_url } = await client.reported(campaign, "completed");
  assert.equal(recording_url, `/api/v1/calls/${call_id}/recording`);
  return call_id;
}

/** As what the switch answers who asks for the recording: 200 or 404. */
async function stored(callId: number): Promise<number> {
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

test("an erasure takes a person's recording from the switch, as soon as that answers; retention takes the others', and then their calls", async () => {
  const leaders = fixture.startLeaders();
  const numbers = [1, 2].map((n) => farEnd("speaks").replace(/0{3}$/, `00${n}`));
  const [theirs, other] = await Promise.all([
    recordedCall(numbers[0]!, extensions.answers),
    recordedCall(numbers[1]!, extensions.answers_too),
  ]);
  await fixture.checkAll();
  await leaders.stop();
  assert.deepEqual([await stored(theirs), await stored(other)], [200, 200]);

  const asked = await client.ask("POST", "/api/v1/erasures", { phone_number: numbers[0] });
  assert.equal(asked.status, 202, asked.text);
  const erasure = async () => (await client.ask("GET", `/api/v1/erasures/${asked.body.id}`)).body;
  // Nothing listens there.
  await reachSwitchAt("http://127.0.0.1:1/ari");
  await eventually(async () => {
    await work();
    return (await erasure()).waiting_for === "recording";
  });
  const { body: emptied } = await client.ask("GET", `/api/v1/calls/${theirs}`);
  assert.equal(emptied.to_number, "");
  assert.equal(await stored(theirs), 200);
  await reachSwitchAt(fixture.asterisk().ari_url);
  await eventually(async () => {
    await work();
    return (await erasure()).state === "done";
  });
  assert.equal((await erasure()).counts.recordings, 1);
  assert.deepEqual([await stored(theirs), await stored(other)], [404, 200]);

  const retention = { recordings_days: 1, calls_days: 2, events_days: null };
  assert.equal((await client.ask("PATCH", "/api/v1/account", { retention })).status, 200);
  fixture.api.clock.advance(1.5 * day_ms);
  assert.equal(await forgetRecordings(fixture.app, never), 1);
  assert.equal(await stored(other), 404);
  assert.equal((await client.ask("GET", `/api/v1/calls/${other}/recording`)).status, 404);
  assert.equal((await client.ask("GET", `/api/v1/calls/${other}`)).body.recording_url, null);
  fixture.api.clock.advance(day_ms);
  assert.equal(await applyRetention(fixture.app, never), 2);
  assert.deepEqual((await client.ask("GET", "/api/v1/calls")).body.data, []);
});
