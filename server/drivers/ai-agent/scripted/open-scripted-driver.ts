// The scripted AI agent: follows configured rules and texts, without an external service.
import { systemTimers, type Timers } from "../../../lib/timers.ts";
import type { SpeechDriver, Utterance } from "../../speech/driver.ts";
import { textsOf, type AiAgentDriver, type AiAgentPlan, type SetUpFailure } from "../driver.ts";
import { cacheSpeech } from "./cache-speech.ts";
import { holdRehearsal } from "./hold-rehearsal.ts";
import { openScriptedSession } from "./open-scripted-session.ts";

/**
 * Opens the driver. A conversation holds the audio of its texts, so that the call does not wait for it. Without speech recognition in `speech`, callers answer by keys only. A text that cannot be
 * synthesized ends the conversation as `failed`; speech that cannot be recognized is answered by the fallback.
 */
export function openScriptedDriver(parts: {
  readonly speech: Pick<SpeechDriver, "recognize">;
  readonly timers?: Timers;
}): AiAgentDriver {
  const { speech, timers = systemTimers } = parts;
  const synthesizeCached = cacheSpeech();
  return {
    prepare(plan, _callbacks, synthesizer) {
      const held = new Map<string, Buffer>();
      const synthesize = async (utterance: Utterance) => {
        const samples =
          held.get(utterance.text) ?? (await synthesizeCached(synthesizer, utterance));
        held.set(utterance.text, samples);
        return samples;
      };
      return {
        ready: () => synthesizeAll(plan, synthesize),
        lost: never,
        start: (media, onEvent) =>
          openScriptedSession({
            plan,
            media,
            onEvent,
            timers,
            synthesize,
            recognize: speech.recognize,
          }),
        close: async () => {},
      };
    },
    rehearse: holdRehearsal,
  };
}

/** Synthesized texts cannot be lost. */
const never = new Promise<void>(() => {});

/** Synthesizes every text of the plan; returns null, or why one failed. */
async function synthesizeAll(
  plan: AiAgentPlan,
  synthesize: SpeechDriver["synthesize"],
): Promise<SetUpFailure | null> {
  // One after the other, because the queue of synthesis is short.
  for (const text of textsOf(plan)) {
    try {
      await synthesize(text);
    } catch (error) {
      return { reason: `a text could not be synthesized: ${reasonOf(error)}`, text };
    }
  }
  return null;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
