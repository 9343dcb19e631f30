import pino from "pino";
import { aiAgentDriverContract } from "../../../../test/support/ai-agent-driver-contract.ts";
import {
  startRealtimeStub,
  type StubAnswer,
  type StubPrompt,
} from "../../../../test/support/realtime-stub.ts";
import { toneSpeech } from "../../../../test/support/tone-speech.ts";
import { openRealtimeDriver } from "./open-realtime-driver.ts";

/** The suite's model: responds to keys and speech as the contract requires. */
function answer({ kind, text }: StubPrompt): StubAnswer {
  if (kind === "instructions")
    return { say: JSON.parse(/".*"$/.exec(text)?.[0] ?? '""') as string };
  if (kind === "function") return { say: "Noted" };
  if (text === "[pressed 0]" || text.includes("a person"))
    return { say: "One moment please", call: { name: "transfer_to_agent", args: {} } };
  if (text === "[pressed 9]")
    return { say: "You will not be called again", call: { name: "opt_out", args: {} } };
  if (text === "[pressed 5]") return { say: "Goodbye", call: { name: "end_call", args: {} } };
  if (text === "[pressed 3]")
    return { call: { name: "set_lead_field", args: { field: "city", value: "Pune" } } };
  return { say: "Please say it again" };
}

aiAgentDriverContract("realtime", async () => {
  const texts: string[] = [];
  const stub = await startRealtimeStub({ answer, transcribe: () => texts.shift() ?? "" });
  const hour = 3_600_000;
  return {
    open: (timers) =>
      openRealtimeDriver({
        url: stub.url,
        api_key: "key",
        model: "model",
        transcription_model: "words",
        log: pino({ level: "silent" }),
        // The tests advance the clock at will, while the stub responds in real time.
        timeouts: { ready_ms: hour, stall_ms: hour },
        timers,
      }),
    synthesize: toneSpeech.synthesize,
    scriptTranscript: (text) => void texts.push(text),
    setBroken(isBroken) {
      stub.script({ reject: isBroken ? 503 : null });
      if (isBroken) for (const connection of stub.connections) connection.cut();
    },
    violations: stub.violations,
    close: stub.close,
  };
});
