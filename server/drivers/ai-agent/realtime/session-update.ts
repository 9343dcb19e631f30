// Builds the settings of a session: instructions, audio formats and tools of the AI agent.
import type { AiAgentPlan, CallbackTerms } from "../driver.ts";
import { describeTools } from "./ai-agent-tools.ts";
import { describeFormat, type AudioFormat } from "./audio-format.ts";
import { describeTranscription } from "./describe-transcription.ts";

const silence_duration_ms = 500;
const prefix_padding_ms = 300;

/** Builds the `session.update` event for an AI agent. */
export function sessionUpdate(
  plan: AiAgentPlan,
  { briefing }: CallbackTerms,
  transcription_model: string,
  format: AudioFormat,
): object {
  return {
    type: "session.update",
    session: {
      type: "realtime",
      output_modalities: ["audio"],
      instructions: [
        plan.instructions,
        `You are on the telephone. Speak the language ${plan.language} unless the caller speaks another.`,
        "A key that the caller presses comes as a text such as [pressed 1].",
        briefing,
      ].join("\n\n"),
      tools: describeTools(plan),
      tool_choice: "auto",
      audio: {
        input: {
          format: describeFormat(format),
          transcription: describeTranscription(transcription_model, plan.language),
          turn_detection: {
            type: "server_vad",
            prefix_padding_ms,
            silence_duration_ms,
            create_response: true,
            interrupt_response: true,
          },
        },
        output: {
          format: describeFormat(format),
          ...(plan.voice === null ? {} : { voice: plan.voice }),
        },
      },
    },
  };
}

/** Returns the instructions for the greeting; null if there is none. */
export function greetingInstructions({ greeting, language }: AiAgentPlan): string | null {
  if (greeting.trim() === "") return null;
  return `Greet the caller. Say exactly this, in the language ${language}, and nothing else: ${JSON.stringify(greeting)}`;
}

/** Returns the message that lets the next response begin with the greeting; null if there is none. */
export function greetingReminder({ greeting, language }: AiAgentPlan): string | null {
  if (greeting.trim() === "") return null;
  return `The caller spoke or pressed a key before your greeting. Begin your next response with exactly this, in the language ${language}, then respond to the caller: ${JSON.stringify(greeting)}`;
}
