// One conversation of the scripted AI agent.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { SpeechDriver } from "../../speech/driver.ts";
import type { AiAgentPlan, AiAgentSession } from "../driver.ts";
import { openConversation, type ConversationParts } from "../open-conversation.ts";
import { detectSpeech } from "./detect-speech.ts";
import { openAudioOutput } from "./open-audio-output.ts";
import { openDialog } from "./open-dialog.ts";

/** Silence that ends speech. */
const pause = Buffer.alloc(1_000 * bytes_per_ms);
/** Speech is ignored while this many recognitions are running. */
const recognitions_max = 3;

type SessionParts = Pick<ConversationParts, "media" | "onEvent" | "timers"> & {
  readonly plan: AiAgentPlan;
  readonly synthesize: SpeechDriver["synthesize"];
  readonly recognize: SpeechDriver["recognize"];
};

/** Opens a conversation, which begins with the greeting. */
export function openScriptedSession(parts: SessionParts): AiAgentSession {
  const { plan, media, timers, recognize } = parts;
  let isSpeaking = false;
  let recognitions = 0;
  let quiet_from = timers.now();
  const touch = () => void (quiet_from = timers.now());
  const conversation = openConversation({
    ...parts,
    quietSince() {
      const isBusy =
        output.isTalking() || isSpeaking || recognitions > 0 || dialog.isCollectingKeys();
      return isBusy ? null : quiet_from;
    },
    hungUp() {
      dialog.handleHangUp();
      // Ends the speech that the hangup has cut off.
      if (isSpeaking) listen(pause);
      return isSpeaking || recognitions > 0;
    },
    stopped: () => {},
  });
  const player = openAudioOutput({ ...parts, language: plan.language, conversation });
  const output = {
    ...player,
    say: (text: string, then: () => void) =>
      player.say(text, () => {
        touch();
        then();
      }),
  };
  const dialog = openDialog(plan, output, conversation);
  const transcribe = async (samples: Buffer) => {
    if (recognize === null || recognitions >= recognitions_max) return;
    recognitions += 1;
    const text = await recognize(samples, plan.language).catch(() => "");
    recognitions -= 1;
    if (conversation.isOver()) return;
    if (text.trim() !== "") touch();
    if (text.trim() !== "" || !isSpeaking) dialog.handleTranscript(text.trim());
    if (conversation.isHungUp() && recognitions === 0) conversation.stop();
  };
  const listen = detectSpeech({
    began() {
      isSpeaking = true;
      if (output.isTalking()) touch();
      dialog.handleSpeechStart();
    },
    ended(samples) {
      isSpeaking = false;
      void transcribe(samples);
    },
  });
  if (recognize) media.listen((samples) => void (conversation.isOver() || listen(samples)));
  dialog.greet();
  return {
    digit(digit) {
      if (conversation.isOver() || !/^[0-9*#]$/.test(digit)) return;
      touch();
      dialog.handleKey(digit);
    },
    utterance(text) {
      if (conversation.isOver() || text.trim() === "") return;
      touch();
      dialog.handleSpeechStart();
      dialog.handleTranscript(text.trim());
    },
    ended: conversation.ended,
    close: async () => conversation.stop(),
  };
}
