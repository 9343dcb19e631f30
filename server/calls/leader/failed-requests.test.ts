// Requests that fail or take long at the switch, under a node leader whose own reconciliations are an hour apart.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { leadNodes } from "../../../test/support/call-client.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makePhoneNumber } from "../../../test/support/telephony-factory.ts";
import { VoiceError, type VoiceDriver, type VoiceEvent } from "../../drivers/voice/driver.ts";
import { default_settings } from "../../worker.ts";

let fixture: CallFixture;
let leaders: { stop(): Promise<void> };
const hour_ms = 3_600_000;
const times = { ...default_settings.leaders, reconcile_ms: hour_ms, missing_ms: hour_ms };
/** The requests whose next one fails. */
const failing = new Set<string>();
/** The legs whose hang-up reached the switch. */
const hung_up: string[] = [];
/** The incoming call that was refused last; as with Asterisk, a snapshot refuses it again. */
let refused: string | null = null;
/** Delays the dials of agents, the responses to them, and the answers of any leg. */
let beforeAgentDial = async () => {};
let agentIsDialed = async () => {};
let beforeAnswer = async () => {};
/** Delays refusals. */
let beforeRefusal = async () => {};
/** Delays the responses to snapshots. */
let isListed = async () => {};

function failOnce(request: string): void {
  if (failing.delete(request)) throw new VoiceError("unknown", "no response from the switch");
}

function failingSwitch(driver: VoiceDriver): VoiceDriver {
  return {
    ...driver,
    open(node, onEvent, maySend) {
      const onHeld = (event: VoiceEvent) => {
        if (event.type === "answered") void beforeAnswer().then(() => onEvent(event));
        else onEvent(event);
      };
      const session = driver.open(node, onHeld, maySend);
      return {
        ...session,
        async dial(dial) {
          const isOfAgent = dial.to.kind === "extension";
          if (isOfAgent) await beforeAgentDial();
          await session.dial(dial);
          if (isOfAgent) await agentIsDialed();
        },
        async hangUp(leg, cause) {
          failOnce("hangUp");
          await session.hangUp(leg, cause);
          hung_up.push(leg);
        },
        async refuse(channel) {
          refused = channel;
          await beforeRefusal();
          failOnce("refuse");
          await session.refuse(channel);
        },
        async snapshot() {
          failOnce("snapshot");
          if (refused !== null) await session.refuse(refused);
          const listed = await session.snapshot();
          await isListed();
          return listed;
        },
      };
    },
  };
}

before(async () => {
  fixture = await openCallFixture({ through: failingSwitch });
  leaders = leadNodes(fixture.app, times);
});
after(async () => {
  await leaders.stop();
  await fixture.close();
});

/** Places a call that both parties answer and neither ends; returns its campaign and its ID. */
async function talk(
  to_number: string,
  from_number: string,
): Promise<{ campaign: number; call_id: number }> {
  const campaign = await fixture.call({ to_number, from_number });
  const { call_id } = await fixture.awaitCall(campaign, "in-progress");
  return { campaign, call_id };
}

test("repeats a failed hang-up soon, also if the reconciliation before it fails", async () => {
  const { campaign, call_id } = await talk("9800777900", "301");
  failing.add("hangUp").add("snapshot");
  await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, failing.size], ["hung_up_by_api", 0]);
});

test("repeats the failed hang-up of a leg whose dial was still without a response", async () => {
  const response = Promise.withResolvers<void>();
  agentIsDialed = () => response.promise;
  const { campaign, call_id } = await talk("9801777900", "302");
  agentIsDialed = async () => {};
  hung_up.length = 0;
  await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  // The customer's; the agent's waits for the response.
  await eventually(() => hung_up.length === 1);
  failing.add("hangUp");
  response.resolve();
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, failing.size], ["hung_up_by_api", 0]);
});

test("dials the customer at once although the agent was dialed while a reconciliation listed the channels", async () => {
  const other = await talk("9802777900", "303");
  const [dialing, listed, reconciled] = Array.from({ length: 3 }, () =>
    Promise.withResolvers<void>(),
  );
  beforeAgentDial = () => {
    dialing!.resolve();
    return listed!.promise;
  };
  beforeAnswer = () => reconciled!.promise;
  const campaign = await fixture.call({ to_number: "9803777900", from_number: "304" });
  await dialing!.promise;
  isListed = async () => {
    listed!.resolve();
    await eventually(
      async () => (await fixture.callRecords(campaign))[0].legs[0].ringing_at !== null,
    );
  };
  // Reconciles.
  failing.add("hangUp");
  await fixture.ask("POST", `/api/v1/calls/${other.call_id}/hangup`);
  await fixture.awaitCall(other.campaign, "completed");
  beforeAgentDial = beforeAnswer = isListed = async () => {};
  reconciled!.resolve();
  const { status, call_id } = await fixture.awaitCall(campaign, "in-progress", "failed");
  assert.equal(status, "in-progress");
  await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await fixture.awaitCall(campaign, "completed");
});

/** Calls a number; resolves when the call is over. */
function callIn(to: string): Promise<void> {
  const id = fixture.node_id;
  const node = { id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
  return fixture.sandbox.receiveCall(node, { endpoint: "sandbox", from: "+919812345678", to });
}

test("refuses an incoming call soon after its refusal failed", async () => {
  failing.add("refuse");
  let isOver = false;
  void callIn("8999999999").then(() => (isOver = true));
  await eventually(() => isOver);
  assert.equal(failing.size, 0);
});

test("reports an incoming call as missed once, also if the next node leader refuses it", async () => {
  const { query } = fixture.app.db;
  const number = "918000000199";
  await makePhoneNumber(fixture.app, fixture.account, number);
  const missed = async () => {
    const events = query.selectFrom("events").select("id").where("type", "=", "call.missed");
    return (await events.execute()).length;
  };
  const stopped = Promise.withResolvers<void>();
  beforeRefusal = () => stopped.promise;
  const over = callIn(number);
  await eventually(async () => (await missed()) === 1);
  await leaders.stop();
  beforeRefusal = async () => {};
  stopped.resolve();
  refused = null;
  leaders = leadNodes(fixture.app, times);
  await over;
  assert.equal(await missed(), 1);
  // The switch no longer has it.
  await eventually(async () => {
    const rows = await query.selectFrom("refused_calls").select("channel").execute();
    return rows.length === 0;
  });
});
