// An agent that needs nobody else: it says what was written for it, and follows rules.
import { systemTimers, type Timers } from "../../../lib/timers.ts";
import type { SpeechDriver } from "../../speech/driver.ts";
import type { AgentDriver, AgentPlan, AgentSession } from "../driver.ts";
import { openConversation, type ConversationParts } from "../open-conversation.ts";
import { findSpeech } from "./find-speech.ts";
import { openDialog } from "./open-dialog.ts";
import { openMouth } from "./open-mouth.ts";
import { rememberSpeech } from "./remember-speech.ts";

/** What was said while so much is still being understood is not listened to. */
const understanding_max = 3;

/**
 * Opens the driver. Where `speech` understands nothing, callers are heard by their keys alone. A text that
 * cannot be spoken ends a conversation as `failed`; what cannot be understood is answered by the fallback.
 */
export function openScriptedAgent(parts: {
  readonly speech: SpeechDriver;
  readonly timers?: Timers;
}): AgentDriver {
  const { speech, timers = systemTimers } = parts;
  const speak = rememberSpeech(speech);
  return {
    open: (plan, media, hear) =>
      openSession({ plan, media, hear, timers, speak, recognize: speech.recognize }),
  };
}

type SessionParts = Pick<ConversationParts, "media" | "hear" | "timers"> & {
  readonly plan: AgentPlan;
  readonly speak: SpeechDriver["speak"];
  readonly recognize: SpeechDriver["recognize"];
};

function openSession(parts: SessionParts): AgentSession {
  const { plan, media, timers, recognize } = parts;
  let isSpeaking = false;
  let understanding = 0;
  let quiet_from = timers.now();
  const touch = () => void (quiet_from = timers.now());
  const conversation = openConversation({
    ...parts,
    quietSince() {
      const isBusy = mouth.isTalking() || isSpeaking || understanding > 0 || dialog.isTakingKeys();
      return isBusy ? null : quiet_from;
    },
    stopped: () => {},
  });
  const talker = openMouth({ ...parts, language: plan.language, conversation });
  const mouth = {
    ...talker,
    say: (text: string, then: () => void) =>
      talker.say(text, () => {
        touch();
        then();
      }),
  };
  const dialog = openDialog(plan, mouth, conversation);
  const understand = async (samples: Buffer) => {
    if (recognize === null || understanding >= understanding_max) return;
    understanding += 1;
    const text = await recognize(samples, plan.language).catch(() => "");
    understanding -= 1;
    if (conversation.isOver()) return;
    if (text.trim() !== "") touch();
    dialog.words(text.trim());
  };
  const listen = findSpeech({
    began() {
      isSpeaking = true;
      if (mouth.isTalking()) touch();
      dialog.speechBegan();
    },
    ended(samples) {
      isSpeaking = false;
      void understand(samples);
    },
  });
  if (recognize) media.listen((samples) => void (conversation.isOver() || listen(samples)));
  dialog.greet();
  return {
    digit(digit) {
      if (conversation.isOver() || !/^[0-9*#]$/.test(digit)) return;
      touch();
      dialog.key(digit);
    },
    close: async () => conversation.stop(),
  };
}
