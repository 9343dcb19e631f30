// How a session is set up: who the agent is, how it hears and speaks, what it may do.
import type { AgentPlan } from "../driver.ts";
import { describeTools } from "./agent-tools.ts";
import { nameFormat, type SoundFormat } from "./sound-format.ts";

const transcription_model = "gpt-4o-mini-transcribe";
const silence_duration_ms = 500;
const prefix_padding_ms = 300;

export function sessionUpdate(plan: AgentPlan, format: SoundFormat): object {
  const [language] = plan.language.split("-");
  return {
    type: "session.update",
    session: {
      type: "realtime",
      output_modalities: ["audio"],
      instructions: [
        plan.instructions,
        `You are on the telephone. Speak the language ${plan.language} unless the caller speaks another.`,
        "A key that the caller presses comes as a text such as [pressed 1].",
      ].join("\n\n"),
      tools: describeTools(plan),
      tool_choice: "auto",
      audio: {
        input: {
          format: nameFormat(format),
          transcription: { model: transcription_model, language },
          turn_detection: {
            type: "server_vad",
            prefix_padding_ms,
            silence_duration_ms,
            create_response: true,
            interrupt_response: true,
          },
        },
        output: {
          format: nameFormat(format),
          ...(plan.voice === null ? {} : { voice: plan.voice }),
        },
      },
    },
  };
}

/** The first thing that is said. */
export function greetingInstructions({ greeting, language }: AgentPlan): string | null {
  if (greeting.trim() === "") return null;
  return `Greet the caller. Say exactly this, in the language ${language}, and nothing else: ${JSON.stringify(greeting)}`;
}
