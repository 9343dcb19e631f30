// Executes the commands of campaigns' calls, which concern the recipient's leg.
import { SpeechError } from "../../../drivers/speech/driver.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import type { Audio } from "../../../lib/audio/audio.ts";
import { findAudio, synthesizeAudio } from "../../audio/audio-files.ts";
import { legName, messageName, playbackName } from "../../state-machine/call.ts";
import type { CampaignCommand } from "../../state-machine/events-and-commands.ts";
import type { Prompt } from "../../state-machine/menu.ts";
import { startConversation } from "./start-conversation.ts";
import { mayProceed, type Leader, type LiveCall } from "../node/leader.ts";

/** How soon calls are reconciled after a failed playback. */
const reconcile_ms = 500;

type Playing = CampaignCommand & { type: "play" };

/** Executes a command; never waits for the recipient. */
export async function executeCampaignCommand(
  leader: Leader,
  live: LiveCall,
  command: CampaignCommand,
): Promise<void> {
  const { session, app } = leader;
  const { call } = live;
  switch (command.type) {
    case "play":
      live.playing = live.playing.then(() => playAll(leader, live, command));
      return;
    case "stop_playing":
      return session.stopPlaying(legName(call, { id: command.leg }));
    case "detect":
      return session.detect(legName(call, { id: command.leg }));
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

/** Plays the prompts in order. Never fails: reports an unplayable prompt, and retries temporary errors. */
async function playAll(leader: Leader, live: LiveCall, command: Playing): Promise<void> {
  const leg = legName(live.call, { id: command.leg });
  const playback = playbackName(live.call, command.visit);
  try {
    for (const [i, prompt] of command.prompts.entries()) {
      const audio = await audioOf(leader, live, prompt);
      // A key may have moved the call to its next visit.
      if (live.call.position?.visit !== command.visit || !mayProceed(leader)) return;
      const isLast = i === command.prompts.length - 1;
      await leader.session.play(leg, isLast ? playback : `${playback}-${i}`, audio);
    }
  } catch (err) {
    const { account_id, id: call_id } = live.call;
    leader.app.log.warn({ err, account_id, call_id }, "could not play a prompt");
    // Any other error may be temporary: the switch or the database is unavailable, or TTS is busy.
    const isRefused = err instanceof VoiceError && err.failure === "refused";
    if (!isRefused && !(err instanceof SpeechError)) {
      live.needs_resume = true;
      return leader.reconcileIn(reconcile_ms);
    }
    const at = leader.app.clock.now();
    leader.dispatch(live, { type: "played", leg: command.leg, playback, ok: false, at });
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
  return { ...prompt.audio, read };
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
  { leg, visit, limits }: CampaignCommand & { type: "record_message" },
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
