import type { VoiceFile } from "../../../api/voice.ts";
import type { Option } from "../../../ui/option.ts";

export const machine_options: readonly Option<VoiceFile["answering_machine"]>[] = [
  { value: "off", label: "Do not find out who answers" },
  { value: "play", label: "Play it to the machine" },
  { value: "hang_up", label: "Hang up" },
  { value: "retry", label: "Hang up and call again later" },
];

export const key_options: readonly Option<string>[] = "1234567890*#".split("").map((key) => ({
  value: key,
  label: `Key ${key}`,
}));

/** What a file can be used for. */
export function usesOf({ duration_ms, script, menu_id, ai_agent_id }: VoiceFile): string {
  const uses = [
    duration_ms !== null && "Audio",
    script !== null && "Script",
    menu_id !== null && "Menu",
    ai_agent_id !== null && "AI agent",
  ].filter((use) => use !== false);
  return uses.length === 0 ? "–" : uses.join(", ");
}
