// AI agents that are set up for calls which end, or whose node leader loses its lease, in the meantime.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import pino from "pino";
import { makeAccount } from "../../../../test/support/account-factory.ts";
import { talking_agent } from "../../../../test/support/ai-agent-plan.ts";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { callValue, voiceValue } from "../../../../test/support/call-values.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { startRealtimeStub, type RealtimeStub } from "../../../../test/support/realtime-stub.ts";
import { toneSpeech } from "../../../../test/support/tone-speech.ts";
import { openRealtimeDriver } from "../../../drivers/ai-agent/realtime/open-realtime-driver.ts";
import { callName } from "../../state-machine/call.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";
import { openContentGate } from "../dialer/content-gate.ts";
import { releaseCall } from "../events/handle-event.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { prepareAiAgent } from "./prepare-ai-agent.ts";
import { prepareContent } from "./prepare-content.ts";

const synthesis = { began: Promise.withResolvers<void>(), goes_on: Promise.withResolvers<void>() };
const speech = {
  ...toneSpeech,
  async synthesize(utterance: Parameters<typeof toneSpeech.synthesize>[0]) {
    synthesis.began.resolve();
    await synthesis.goes_on.promise;
    return toneSpeech.synthesize(utterance);
  },
};

let stub: RealtimeStub;
let api: TestApi;
let log = "";

before(async () => {
  stub = await startRealtimeStub();
  api = await startApi({
    speech,
    aiAgentDrivers: {
      realtime: openRealtimeDriver({
        url: stub.url,
        api_key: null,
        model: "gpt-test",
        transcription_model: "words",
        log: pino({ level: "silent" }),
      }),
    },
  });
});
afterEach(() => stub.script({ reject: null }));
after(async () => {
  await api.close();
  await stub.close();
});

const content: VoiceContent = {
  call_type: "ai_bot",
  agent: { ...talking_agent, may_transfer: true },
  transfer_to: { extension: "101" },
};

/** A node leader with one live call, as far as the set-up of an AI agent needs them. */
function lead(account_id: number, more: Partial<Record<keyof Leader, unknown>> = {}) {
  const call = callValue({
    account_id,
    voice: voiceValue({ content }),
  });
  const live = { call, prepared: null, conversation: null, dialing: new Map() } as LiveCall;
  let now_ms = 0;
  const gate = openContentGate(() => now_ms);
  const leader = {
    app: { ...api.app, log: pino({ level: "warn" }, { write: (line: string) => (log += line) }) },
    calls: new Map([[callName(call), live]]),
    gate,
    prepared_texts: new Map(),
    wake() {},
    dispatch() {},
    ...more,
  } as unknown as Leader;
  /** One more failure pauses the campaign. */
  const failAlmostAlways = () => {
    for (let i = 1; i < 15; i++) {
      assert.equal(gate.failed(call, "set_up", "refused"), null);
      now_ms += 600_000;
      gate.room(call);
    }
  };
  return { leader, live, failAlmostAlways };
}

test("opens no session for a call that ends while its texts are synthesized", async () => {
  const { account_id } = await makeAccount(api.app);
  const { leader, live } = lead(account_id);
  const prepared = prepareContent(leader, live);
  await synthesis.began.promise;
  releaseCall(leader, live);
  synthesis.goes_on.resolve();
  assert.equal(await prepared, null);
  assert.equal(live.prepared, null);
  assert.equal(stub.connections.length, 0);
});

test("an AI agent that is lost after the lease does not end the process", async () => {
  const { leader, live, failAlmostAlways } = lead(1, {
    lease: { lost: AbortSignal.abort() },
  });
  const query = () => Promise.reject(new Error("no database"));
  Object.assign(leader.app, { db: { pool: { query } } });
  assert.equal(await prepareAiAgent(leader, live), null);
  failAlmostAlways();
  stub.script({ reject: 503 });
  stub.last().cut();
  await eventually(() => log.includes("could not set up the AI agent of a call again"));
});
