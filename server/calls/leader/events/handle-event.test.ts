// AI agents that fail in silence: their campaign pauses, however each call ends.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { talking_agent } from "../../../../test/support/ai-agent-plan.ts";
import { callValue, voiceValue } from "../../../../test/support/call-values.ts";
import {
  makeCallingAccount,
  makeSandboxTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { callName, type Call } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { addLeg, patchLeg } from "../../state-machine/legs.ts";
import type { TransferTarget } from "../../state-machine/menu.ts";
import { moveTo } from "../../state-machine/play-to-caller.ts";
import { openContentGate } from "../dialer/content-gate.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { handleEvent, releaseCall } from "./handle-event.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const noon = new Date("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(noon.getTime() + seconds * 1_000);

/** A call whose AI agent has just been connected. */
function conversing(
  of: Pick<Call, "account_id" | "campaign_id" | "id">,
  transfer_to: TransferTarget | null,
): Call {
  const content = { call_type: "ai_bot", agent: talking_agent, transfer_to } as const;
  const call = callValue({
    ...of,
    stage: "talking",
    answered_at: noon,
    voice: voiceValue({ content }),
  });
  const dialed = addLeg(call, { role: "customer", number: call.to_phone, on_trunk: true }, noon);
  const answered = patchLeg(dialed, 1, { state: "answered", answered_at: noon });
  return moveTo(answered, {
    doing: "conversing",
    is_audible: false,
    conversing_since_ms: noon.getTime(),
  });
}

/** A node leader as far as the events of conversations need it; each transition is stored elsewhere. */
function lead() {
  let now_ms = 0;
  const gate = openContentGate(() => now_ms);
  const leader = {
    app: { ...api.app, log: pino({ level: "silent" }) },
    calls: new Map<string, LiveCall>(),
    gate,
    lease: { fence: 0, mayProceed: () => true, lost: new AbortController().signal },
    disconnected_since_ms: null,
    session: { ringback: async () => {}, hangUp: async () => {}, endBridge: async () => {} },
    serializeAgentChoice: (_next: unknown, run: () => unknown) => run(),
    commitTransition: async () => {},
    dispatch() {},
    wake() {},
  };
  return { leader: leader as unknown as Leader, gate, wait: () => void (now_ms += 60_000) };
}

async function holdsAfter(
  transfer_to: TransferTarget | null,
  event: CallEvent,
  more: Partial<Call["position"]> = {},
): Promise<string[]> {
  const account = await makeCallingAccount(api.app);
  const { trunk_id } = await makeSandboxTrunk(api.app);
  const { id: campaign_id } = await makeVoiceCampaign(api.app, account, {
    campaign: { trunk_id },
  });
  const { account_id } = account;
  const { leader, gate, wait } = lead();
  for (let id = 1; id <= 5; id++) {
    assert.ok(gate.room({ account_id, campaign_id }) > 0);
    const call = conversing({ account_id, campaign_id, id }, transfer_to);
    const live = {
      call: { ...call, position: { ...call.position!, ...more } },
      line: { customer: { kind: "trunk", endpoint: "carrier", number: "1" }, caller_id: "1" },
      dialing: new Map(),
    } as unknown as LiveCall;
    leader.calls.set(callName(call), live);
    await handleEvent(leader, live, event);
    assert.equal(live.call.position!.doing, "transferring");
    releaseCall(leader, live);
    wait();
  }
  const holds = await api.app.db.query
    .selectFrom("voice_holds")
    .select("reason")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
  return holds.map(({ reason }) => reason);
}

test("pauses a campaign whose AI agent fails before its first word on five calls in a row, also if a person takes each", async () => {
  const to = { extension: "101" };
  const failed = { type: "conversation_ended", reason: "failed", at: at(5) } as const;
  assert.deepEqual(await holdsAfter(to, failed), ["error_threshold"]);
  assert.deepEqual(await holdsAfter(to, failed, { is_audible: true }), []);
  const asked = { type: "tool", tool: { name: "transfer_to_agent" }, at: at(1) } as const;
  assert.deepEqual(await holdsAfter(to, asked), [], "the AI agent transfers the call itself");
});
