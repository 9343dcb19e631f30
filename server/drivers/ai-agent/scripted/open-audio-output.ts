// Plays the texts of the scripted AI agent, one at a time.
import type { CallMedia } from "../../call-media.ts";
import type { Utterance } from "../../speech/driver.ts";
import type { Conversation } from "../open-conversation.ts";

export type AudioOutput = {
  /** Stops the current text, says this one unless it is empty, then calls `then`. */
  readonly say: (text: string, then: () => void) => void;
  /** Stops playback at once and drops the pending `then`; returns false if nothing was playing. */
  readonly interrupt: () => boolean;
  readonly isTalking: () => boolean;
};

export function openAudioOutput(parts: {
  readonly synthesize: (utterance: Utterance) => Promise<Buffer>;
  readonly language: string;
  readonly media: CallMedia;
  readonly conversation: Conversation;
}): AudioOutput {
  const { synthesize, language, media, conversation } = parts;
  /** Increases with each text and each interruption. */
  let revision = 0;
  let isTalking = false;
  let stopWaiting = () => {};
  const interrupt = () => {
    if (!isTalking) return false;
    revision += 1;
    isTalking = false;
    stopWaiting();
    media.flush();
    return true;
  };
  const play = async (text: string, then: () => void) => {
    const own_revision = revision;
    const samples = await synthesize({ text, language }).catch(() => null);
    if (revision !== own_revision || conversation.isOver()) return;
    if (samples === null) {
      conversation.over("failed");
      return;
    }
    conversation.audible();
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
      revision += 1;
      isTalking = true;
      void play(text, then);
    },
    interrupt,
    isTalking: () => isTalking,
  };
}
