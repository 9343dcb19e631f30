// Executes the commands of voice calls, which concern the customer's leg.
import { VoiceError } from "../../../drivers/voice/driver.ts";
import type { Audio } from "../../../lib/audio/audio.ts";
import { findAudio, synthesizeAudio } from "../../audio/audio-files.ts";
import { legName, messageName, playbackName } from "../../state-machine/call.ts";
import type { VoiceCommand } from "../../state-machine/events-and-commands.ts";
import type { Prompt } from "../../state-machine/menu.ts";
import { playInOrder } from "./play-in-order.ts";
import { startConversation } from "./start-conversation.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/** Executes a command; never waits for the customer. */
export async function executeVoiceCommand(
  leader: Leader,
  live: LiveCall,
  command: VoiceCommand,
): Promise<void> {
  const { session, app } = leader;
  const { call } = live;
  switch (command.type) {
    case "play":
      return playInOrder(leader, live, {
        leg: command.leg,
        playback: playbackName(call, command.visit),
        audio: command.prompts.map((prompt) => () => audioOf(leader, live, prompt)),
        // A key may have moved the call to its next visit.
        isWanted: () => live.call.position?.visit === command.visit,
      });
    case "stop_playing":
      return session.stopPlaying(legName(call, { id: command.leg }));
    case "detect":
      return session.detect(legName(call, { id: command.leg }));
    case "await_silence":
      return session.awaitSilence(legName(call, { id: command.leg }));
    case "wait":
      return wait(leader, live, command.visit, command.ms);
    case "record_message":
      return recordMessage(leader, live, command);
    case "stop_message":
      return session.stopMessage(messageName(call, command.visit));
    case "find_agent":
      return leader.dispatch(live, {
        type: "agent_requested",
        to: command.to,
        at: app.clock.now(),
      });
    case "converse":
      live.conversation ??= startConversation(leader, live, command.leg);
      return;
    case "keep_conversation":
      if (!live.conversation)
        leader.dispatch(live, { type: "conversation_ended", reason: "lost", at: app.clock.now() });
      return;
    case "press":
      return live.conversation?.press(command.digit);
    case "end_conversation":
      live.conversation?.end();
      live.conversation = null;
  }
}

async function audioOf({ app }: Leader, { call }: LiveCall, prompt: Prompt): Promise<Audio> {
  const { account_id } = call;
  if ("say" in prompt)
    return synthesizeAudio(app, account_id, { text: prompt.say, language: prompt.language });
  const read = async () => {
    const audio = await findAudio(app.db.query, account_id, prompt.audio.name);
    if (!audio) throw new VoiceError("refused", `the audio ${prompt.audio.name} no longer exists`);
    return audio.read();
  };
  return { ...prompt.audio, owner: String(account_id), read };
}

function wait(leader: Leader, live: LiveCall, visit: number, ms: number): void {
  if (live.wait_timer) clearTimeout(live.wait_timer);
  live.wait_timer = setTimeout(() => {
    leader.dispatch(live, { type: "timeout", visit, at: leader.app.clock.now() });
  }, ms);
}

async function recordMessage(
  leader: Leader,
  live: LiveCall,
  { leg, visit, limits }: VoiceCommand & { type: "record_message" },
): Promise<void> {
  const recording = messageName(live.call, visit);
  try {
    await leader.session.recordMessage(legName(live.call, { id: leg }), recording, limits);
  } catch (error) {
    if (error instanceof VoiceError && error.failure === "refused")
      leader.dispatch(live, { type: "message", recording, ok: false, at: leader.app.clock.now() });
    throw error;
  }
}
