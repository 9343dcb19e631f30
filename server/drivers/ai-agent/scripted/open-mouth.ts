// What the scripted agent says, one thing at a time.
import type { CallMedia } from "../../call-media.ts";
import type { Utterance } from "../../speech/driver.ts";
import type { Conversation } from "../open-conversation.ts";

export type Mouth = {
  /** Says the text, unless it is empty, then goes on. What was being said before is cut off. */
  readonly say: (text: string, then: () => void) => void;
  /** Silent at once, and what was to come then does not come; false when nothing was being said. */
  readonly interrupt: () => boolean;
  readonly isTalking: () => boolean;
};

export function openMouth(parts: {
  readonly speak: (utterance: Utterance) => Promise<Buffer>;
  readonly language: string;
  readonly media: CallMedia;
  readonly conversation: Conversation;
}): Mouth {
  const { speak, language, media, conversation } = parts;
  /** Changes with each text, and when one is cut off. */
  let turn = 0;
  let isTalking = false;
  let stopWaiting = () => {};
  const interrupt = () => {
    if (!isTalking) return false;
    turn += 1;
    isTalking = false;
    stopWaiting();
    media.flush();
    return true;
  };
  const utter = async (text: string, then: () => void) => {
    const mine = turn;
    const samples = await speak({ text, language }).catch(() => null);
    if (turn !== mine || conversation.isOver()) return;
    if (samples === null) {
      conversation.over("failed");
      return;
    }
    conversation.said("agent", text);
    media.write(samples);
    stopWaiting = conversation.afterPlayed(() => {
      isTalking = false;
      then();
    });
  };
  return {
    say(text, then) {
      interrupt();
      if (text.trim() === "") {
        then();
        return;
      }
      turn += 1;
      isTalking = true;
      void utter(text, then);
    },
    interrupt,
    isTalking: () => isTalking,
  };
}
