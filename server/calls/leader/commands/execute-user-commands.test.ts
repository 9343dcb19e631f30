import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { storedCall } from "../../../../test/support/call-values.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { setCalling } from "../../../../test/support/telephony-factory.ts";
import type { VoiceDriver } from "../../../drivers/voice/driver.ts";
import { callName } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { executeUserCommands } from "./execute-user-commands.ts";

let fixture: CallFixture;
/** Delays requests to record, and with them the events of their call. */
let beforeRecord = async () => {};
/** Runs when a node leader has released its calls. */
let onClose = () => {};

function slowSwitch(driver: VoiceDriver): VoiceDriver {
  return {
    ...driver,
    open(...of) {
      const session = driver.open(...of);
      return {
        ...session,
        async record(bridge, recording) {
          await beforeRecord();
          await session.record(bridge, recording);
        },
        async close() {
          onClose();
          await session.close();
        },
      };
    },
  };
}

before(async () => {
  fixture = await openCallFixture({ through: slowSwitch });
  // As long as an account may choose: a transfer rings until everything was requested.
  await setCalling(fixture.app, fixture.account, { agent_ring_seconds: 120 });
});
after(() => fixture.close());

async function hangUp(campaign: number): Promise<void> {
  const [{ call_id }] = await fixture.callRecords(campaign);
  const { status } = await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  assert.equal(status, 200);
}

async function commandsLeft(): Promise<number> {
  const left = await fixture.app.db.query.selectFrom("call_commands").selectAll().execute();
  return left.length;
}

function noCommandLeft(): Promise<void> {
  return eventually(async () => (await commandsLeft()) === 0);
}

test("hangs up a call under the next node leader when it was requested while there was none", async () => {
  const first = fixture.startLeaders();
  const campaign = await fixture.call({ to_number: "9800777900", from_number: "301" });
  await fixture.awaitCall(campaign, "in-progress");
  await first.stop();
  await hangUp(campaign);
  const second = fixture.startLeaders();
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.ended_by], ["hung_up_by_api", "api"]);
  await noCommandLeft();
  await second.stop();
});

test("hangs up a call under the next node leader when the first one stops before it has handled the request", async () => {
  const first = fixture.startLeaders();
  const recorded = Promise.withResolvers<void>();
  beforeRecord = () => recorded.promise;
  const campaign = await fixture.call({ to_number: "9803777900", from_number: "304" });
  await fixture.awaitCall(campaign, "in-progress");
  beforeRecord = async () => {};
  const other = await fixture.call({ to_number: "9804777900", from_number: "305" });
  await fixture.awaitCall(other, "in-progress");
  await hangUp(campaign);
  // Executed later than the first.
  await hangUp(other);
  await fixture.awaitCall(other, "completed");
  onClose = recorded.resolve;
  await first.stop();
  const second = fixture.startLeaders();
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.ended_by], ["hung_up_by_api", "api"]);
  await noCommandLeft();
  await second.stop();
});

test("never places a call that is hung up after its node leader claimed it and died", async () => {
  const campaign = await fixture.call({ to_number: "9801777900", from_number: "302" });
  // The state after claim_calls.
  await fixture.app.db.query
    .updateTable("calls")
    .set({ stage: "agent" })
    .where("campaign_id", "=", campaign)
    .execute();
  await hangUp(campaign);
  const leaders = fixture.startLeaders();
  const record = await fixture.awaitCall(campaign, "canceled");
  assert.deepEqual([record.ended_reason, record.legs, record.cost], ["hung_up_by_api", [], 0]);
  await noCommandLeft();
  await leaders.stop();
});

test("reserves no further credit when a transfer is requested while one rings", async () => {
  const leaders = fixture.startLeaders();
  const campaign = await fixture.call({ to_number: "9802777900", from_number: "303" });
  const { call_id } = await fixture.awaitCall(campaign, "in-progress");
  const reserved = async () => (await fixture.ask("GET", "/api/v1/credits")).body.call.reserved;
  const reserved_before = await reserved();
  const path = `/api/v1/calls/${call_id}/transfer`;
  // Rings until the ring time has passed.
  await fixture.ask("POST", path, { extension: "480" });
  await eventually(
    async () => (await fixture.callRecords(campaign))[0].legs[2]?.status === "ringing",
  );
  await Promise.all([1, 2, 3].map(() => fixture.ask("POST", path, { extension: "480" })));
  await noCommandLeft();
  assert.equal(await reserved(), reserved_before + 1);
  await hangUp(campaign);
  await fixture.awaitCall(campaign, "completed");
  await leaders.stop();
});

test("executes a request once, however long it waits for earlier events of its call, and deletes it then", async () => {
  const { app, account, node_id } = fixture;
  const { account_id } = account;
  const campaign = await fixture.call({ to_number: "9805777900", from_number: "306" });
  const [{ call_id }] = await fixture.callRecords(campaign);
  const calls = app.db.query.updateTable("calls").where("campaign_id", "=", campaign);
  await calls.set({ stage: "talking" }).execute();
  await hangUp(campaign);
  const call = await storedCall(app, account_id, call_id);
  const earlier = Promise.withResolvers<void>();
  const live = { call, pending: earlier.promise } as LiveCall;
  const events: CallEvent[] = [];
  const leader = {
    app,
    node_id,
    lease: { mayProceed: () => true },
    calls: new Map([[callName(call), live]]),
    commands: new Map(),
    dispatch: (_live: LiveCall, event: CallEvent) => void events.push(event),
    notifyCommand: () => {},
  } as unknown as Leader;
  await executeUserCommands(leader);
  await executeUserCommands(leader);
  assert.deepEqual([events.length, await commandsLeft()], [1, 1]);
  earlier.resolve();
  await live.pending;
  await executeUserCommands(leader);
  assert.deepEqual([events.length, await commandsLeft(), leader.commands.size], [1, 0, 0]);
  await calls.set({ stage: "queued" }).execute();
  await hangUp(campaign);
});
