import { agentDriverContract } from "../../../../test/support/agent-driver-contract.ts";
import { openToldSpeech } from "../../../../test/support/told-speech.ts";
import { openScriptedAgent } from "./open-scripted-agent.ts";

agentDriverContract("scripted", async () => {
  const speech = openToldSpeech();
  return {
    open: (timers) => openScriptedAgent({ speech, timers }),
    understand: speech.understand,
    breakDown: speech.breakDown,
    faults: () => [],
    close: async () => {},
  };
});
