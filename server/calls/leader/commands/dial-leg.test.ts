import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { leadNodes, openCallClient } from "../../../../test/support/call-client.ts";
import {
  makeCallingAccount,
  makeSandboxTrunk,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import { openSandboxVoiceDriver } from "../../../drivers/voice/sandbox/open-sandbox-driver.ts";

let api: TestApi;
/** Whether dials fail before they reach the switch. */
let isUnreachable = false;
const sandbox = openSandboxVoiceDriver({ pace: 50 });

before(async () => {
  const open: typeof sandbox.open = (node, onEvent) => {
    const session = sandbox.open(node, (event) => {
      onEvent(event);
      // The switch disconnects while the agent's phone rings.
      if (event.type === "ringing") onEvent({ type: "disconnected", seen_at: event.at });
    });
    const dial: typeof session.dial = async (leg) => {
      if (isUnreachable) throw new VoiceError("unreachable", "the switch cannot be reached");
      return session.dial(leg);
    };
    return { ...session, dial };
  };
  api = await startApi({ voiceDrivers: { sandbox: { ...sandbox, open } } });
});
after(async () => {
  await sandbox.close();
  await api.close();
});

test("does not dial a customer after the time the phone would have rung, and does not count the call toward the limit of a day", async () => {
  const { app } = api;
  await makeSandboxTrunk(app);
  const account = await makeCallingAccount(app);
  await setCalling(app, account, { customer_ring_seconds: 5 });
  const client = await openCallClient(api, account);
  const leaders = leadNodes(app);
  const campaign = await client.call({ to_number: "9800777900", from_number: "101" });
  const record = await client.awaitCall(campaign, "failed", "canceled");
  assert.deepEqual([record.status, record.ended_reason], ["canceled", "node_unavailable"]);
  const { status, blocker } = record.legs.at(-1);
  assert.deepEqual([status, blocker], ["canceled", "node_unavailable"]);
  const { rows } = await app.db.pool.query("select customer_attempts($1, $2, $3) as attempts", [
    account.account_id,
    "919800777900",
    app.clock.now(),
  ]);
  assert.deepEqual(rows, [{ attempts: 0 }]);
  await leaders.stop();
});

test("lets a recipient whose dial never reached the switch wait, and counts no attempt", async () => {
  const { app } = api;
  const account = await makeCallingAccount(app);
  await setCalling(app, account, { customer_ring_seconds: 5 });
  const client = await openCallClient(api, account);
  const { trunk_id } = await makeSandboxTrunk(app);
  const campaign = { trunk_id };
  const recipients = [{ number: "9800777901", phone: "919800777901" }];
  const { id } = await makeVoiceCampaign(app, account, { campaign, recipients });
  isUnreachable = true;
  const leaders = leadNodes(app);
  await eventually(async () => (await client.callRecords(id))[0]?.ended_at);
  const paused = await client.ask("POST", `/api/v1/voice/campaigns/${id}/pause`);
  assert.equal(paused.status, 200, paused.text);
  const read = async () => (await client.ask("GET", `/api/v1/voice/campaigns/${id}`)).body;
  await eventually(async () => (await read()).in_progress === 0);
  await leaders.stop();
  isUnreachable = false;
  const { pending, attempts } = await read();
  assert.deepEqual([pending, attempts], [1, 0]);
  const [call] = await client.callRecords(id);
  assert.deepEqual([call.status, call.ended_reason], ["canceled", "node_unavailable"]);
});
