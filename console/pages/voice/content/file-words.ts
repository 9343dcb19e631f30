import type { CallType, VoiceFile } from "../../../api/voice.ts";
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

/** Whether a kind of call can play a file; the more a kind needs, the earlier it stands. */
export const playable = {
  obd_ivr: ({ menu_id }: VoiceFile) => menu_id !== null,
  ai_bot: ({ ai_agent_id }: VoiceFile) => ai_agent_id !== null,
  obd_smartvoice: ({ script }: VoiceFile) => script !== null,
  obd_voice_call: ({ duration_ms }: VoiceFile) => duration_ms !== null,
} satisfies Record<CallType, unknown>;

/** The kind of call that a file was most likely made for. */
export const kindOfCall = (file: VoiceFile): CallType =>
  (Object.keys(playable) as CallType[]).find((type) => playable[type](file)) ?? "obd_voice_call";

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
