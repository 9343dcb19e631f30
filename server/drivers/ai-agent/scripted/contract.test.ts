import { agentDriverContract } from "../../../../test/support/agent-driver-contract.ts";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import { openScriptedAgent } from "./open-scripted-agent.ts";

agentDriverContract("scripted", async () => {
  const speech = openScriptedSpeech();
  return {
    open: (timers) => openScriptedAgent({ speech, timers }),
    understand: speech.understand,
    breakDown: speech.breakDown,
    faults: () => [],
    close: async () => {},
  };
});
