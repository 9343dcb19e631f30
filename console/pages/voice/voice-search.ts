import type {
  CallType,
  VoiceCampaignFilter,
  VoiceRecipientFilter,
  VoiceState,
  VoiceStatus,
} from "../../api/voice.ts";
import { voice_failures } from "../../messages/voice-reasons.ts";
import type { Option } from "../../ui/option.ts";

export const status_options: readonly Option<VoiceStatus>[] = [
  { value: "running", label: "Running" },
  { value: "scheduled", label: "Scheduled" },
  { value: "paused", label: "Paused" },
  { value: "completed", label: "Completed" },
  { value: "cancelled", label: "Cancelled" },
  { value: "failed", label: "Failed" },
];

export const type_options: readonly Option<CallType>[] = [
  { value: "obd_voice_call", label: "Recording" },
  { value: "obd_smartvoice", label: "Personal script" },
  { value: "obd_ivr", label: "Menu" },
  { value: "ai_bot", label: "AI agent" },
];

export const state_options: readonly Option<VoiceState>[] = [
  { value: "synthesizing", label: "Being synthesized" },
  { value: "waiting", label: "Waiting" },
  { value: "calling", label: "Calling" },
  { value: "answered", label: "Answered" },
  { value: "machine", label: "Machine answered" },
  { value: "busy", label: "Busy" },
  { value: "no_answer", label: "No answer" },
  { value: "failed", label: "Failed" },
  { value: "suppressed", label: "Suppressed" },
  { value: "skipped", label: "Skipped" },
  { value: "cancelled", label: "Cancelled" },
];

export function readVoiceCampaignsSearch({
  status,
  type,
}: Record<string, unknown>): VoiceCampaignFilter {
  const known_status = status_options.find(({ value }) => value === status);
  const known_type = type_options.find(({ value }) => value === type);
  return {
    ...(known_status ? { status: known_status.value } : {}),
    ...(known_type ? { type: known_type.value } : {}),
  };
}

export const reason_options: readonly Option<string>[] = Object.entries(voice_failures).map(
  ([value, { label }]) => ({ value, label }),
);

export function readVoiceRecipientSearch({
  state,
  reason,
  number,
}: Record<string, unknown>): VoiceRecipientFilter {
  const known = state_options.find(({ value }) => value === state);
  return {
    ...(known ? { state: known.value } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    // The router reads a search of digits as a number.
    ...(typeof number === "string" || typeof number === "number" ? { number: String(number) } : {}),
  };
}

/** With what a new campaign begins. */
export type VoiceComposerSearch = {
  /** The only recipient. */
  readonly to?: string;
  /** The ID of the voice file, and the kind of call that plays it. */
  readonly file?: number;
  readonly kind?: CallType;
};

export function readVoiceComposerSearch({
  to,
  file,
  kind,
}: Record<string, unknown>): VoiceComposerSearch {
  const known_kind = type_options.find(({ value }) => value === kind);
  return {
    ...(typeof to === "string" && /^\+\d{5,15}$/.test(to) ? { to } : {}),
    ...(Number.isSafeInteger(file) ? { file: file as number } : {}),
    ...(known_kind ? { kind: known_kind.value } : {}),
  };
}
