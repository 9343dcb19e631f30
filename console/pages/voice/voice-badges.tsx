import type { VoiceState, VoiceStatus } from "../../api/voice.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { state_options, status_options } from "./voice-search.ts";

const status_tones: Readonly<Record<VoiceStatus, Tone>> = {
  scheduled: "neutral",
  running: "busy",
  paused: "warning",
  completed: "good",
  cancelled: "neutral",
  failed: "bad",
};

const state_tones: Readonly<Record<VoiceState, Tone>> = {
  synthesizing: "neutral",
  waiting: "neutral",
  calling: "busy",
  answered: "good",
  machine: "warning",
  busy: "warning",
  no_answer: "warning",
  failed: "bad",
  suppressed: "neutral",
  skipped: "neutral",
  cancelled: "neutral",
};

export function VoiceStatusBadge({ status }: { readonly status: VoiceStatus }) {
  const label = status_options.find(({ value }) => value === status)?.label;
  return <Badge tone={status_tones[status]}>{label}</Badge>;
}

export function VoiceStateBadge({ state }: { readonly state: VoiceState }) {
  const label = state_options.find(({ value }) => value === state)?.label;
  return <Badge tone={state_tones[state]}>{label}</Badge>;
}
