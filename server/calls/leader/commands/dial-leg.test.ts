import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { leadNodes, openCallClient } from "../../../../test/support/call-client.ts";
import {
  makeCallingAccount,
  makeSandboxTrunk,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { openSandboxVoiceDriver } from "../../../drivers/voice/sandbox/open-sandbox-driver.ts";

let api: TestApi;
const sandbox = openSandboxVoiceDriver({ pace: 50 });

before(async () => {
  const open: typeof sandbox.open = (node, onEvent) =>
    sandbox.open(node, (event) => {
      onEvent(event);
      // The switch disconnects while the agent's phone rings.
      if (event.type === "ringing") onEvent({ type: "disconnected", seen_at: event.at });
    });
  api = await startApi({ voiceDrivers: { sandbox: { ...sandbox, open } } });
});
after(async () => {
  await sandbox.close();
  await api.close();
});

test("does not dial a customer after the time the phone would have rung", async () => {
  const { app } = api;
  await makeSandboxTrunk(app);
  const account = await makeCallingAccount(app);
  await setCalling(app, account, { customer_ring_seconds: 5 });
  const client = await openCallClient(api, account);
  const leaders = leadNodes(app);
  const campaign = await client.call({ to_number: "9800777900", from_number: "101" });
  const record = await client.awaitCall(campaign, "failed");
  assert.equal(record.ended_reason, "customer_unreachable");
  await leaders.stop();
});
