import { aiAgentDriverContract } from "../../../../test/support/ai-agent-driver-contract.ts";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import { openScriptedDriver } from "./open-scripted-driver.ts";

aiAgentDriverContract("scripted", async () => {
  const speech = openScriptedSpeech();
  return {
    open: (timers) => openScriptedDriver({ speech, timers }),
    synthesize: speech.synthesize,
    scriptTranscript: speech.scriptTranscript,
    setBroken: speech.setBroken,
    violations: () => [],
    close: async () => {},
  };
});
