import pino from "pino";
import { agentDriverContract } from "../../../../test/support/agent-driver-contract.ts";
import {
  startRealtimeStub,
  type StubAnswer,
  type StubPrompt,
} from "../../../../test/support/realtime-stub.ts";
import { openRealtimeAgent } from "./open-realtime-agent.ts";

/** The model of the suite: what it does about keys and words. */
function answer({ kind, text }: StubPrompt): StubAnswer {
  if (kind === "instructions")
    return { say: JSON.parse(/".*"$/.exec(text)?.[0] ?? '""') as string };
  if (kind === "function") return { say: "Noted" };
  if (text === "[pressed 0]" || text.includes("a person"))
    return { say: "One moment please", call: { name: "transfer_to_agent", args: {} } };
  if (text === "[pressed 9]")
    return { say: "Nobody will call you again", call: { name: "opt_out", args: {} } };
  if (text === "[pressed 5]") return { say: "Goodbye", call: { name: "end_call", args: {} } };
  if (text === "[pressed 3]")
    return { call: { name: "set_lead_field", args: { field: "city", value: "Pune" } } };
  return { say: "Please say it again" };
}

agentDriverContract("realtime", async () => {
  const texts: string[] = [];
  const stub = await startRealtimeStub({ answer, understand: () => texts.shift() ?? "" });
  const hour = 3_600_000;
  return {
    open: (timers) =>
      openRealtimeAgent({
        url: stub.url,
        api_key: "key",
        model: "model",
        log: pino({ level: "silent" }),
        // Time runs in the tests as they please; the stub answers as soon as this machine lets it.
        timeouts: { ready_ms: hour, stall_ms: hour },
        timers,
      }),
    understand: (text) => void texts.push(text),
    breakDown(isBroken) {
      stub.script({ refuse: isBroken ? 503 : null });
      if (isBroken) for (const connection of stub.connections) connection.cut();
    },
    faults: stub.faults,
    close: stub.close,
  };
});
