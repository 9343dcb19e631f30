// A conversation of the scripted AI agent with a caller who is not a person.
import { setImmediate as settled } from "node:timers/promises";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import { manualTimers } from "../../../lib/timers.ts";
import type { AiAgentEvent, AiAgentPlan, CallerStep } from "../driver.ts";
import { pause_ms } from "./collect-digits.ts";
import { openRehearsalMedia } from "./open-rehearsal-media.ts";
import { openScriptedSession } from "./open-scripted-session.ts";

/** Every text takes as long to say: what is said decides, not how it sounds. */
const text_ms = 100;
const speech = Buffer.alloc(text_ms * bytes_per_ms);

/** Holds the conversation on a clock of its own, so that an hour takes milliseconds, and returns its events. */
export async function holdRehearsal(
  plan: AiAgentPlan,
  steps: readonly CallerStep[],
): Promise<readonly AiAgentEvent[]> {
  const time = manualTimers();
  const media = openRehearsalMedia(time.timers);
  const events: AiAgentEvent[] = [];
  /** Lets the AI agent finish what it says. */
  const listen = async () => {
    await settled();
    for (; media.queued_ms() > 0; await settled()) time.advance(media.queued_ms());
  };
  const session = openScriptedSession({
    plan,
    media,
    onEvent: (event) => events.push(event),
    timers: time.timers,
    synthesize: async () => speech,
    recognize: null,
  });
  await listen();
  for (const { press, say, wait_seconds } of steps) {
    const before = events.length;
    for (const key of press ?? "") session.digit(key);
    if (say) session.utterance(say);
    if (wait_seconds) time.advance(wait_seconds * 1_000);
    await listen();
    // It may wait for another key of an answer.
    if (press && !events.slice(before).some(isOfAgent)) {
      time.advance(pause_ms);
      await listen();
    }
  }
  await session.close();
  return events;
}

function isOfAgent(event: AiAgentEvent): boolean {
  return event.type !== "said" || event.who === "agent";
}
