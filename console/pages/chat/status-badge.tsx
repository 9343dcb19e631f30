import type { CampaignStatus, RecipientState } from "../../api/chat.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { state_options, status_options } from "./campaigns-search.ts";

const status_tones: Readonly<Record<CampaignStatus, Tone>> = {
  scheduled: "neutral",
  running: "busy",
  paused: "warning",
  completed: "good",
  cancelled: "neutral",
  failed: "bad",
};

const state_tones: Readonly<Record<RecipientState, Tone>> = {
  queued: "neutral",
  deferred: "warning",
  dispatching: "busy",
  unknown: "warning",
  accepted: "busy",
  sent: "busy",
  delivered: "good",
  read: "good",
  failed: "bad",
  skipped: "neutral",
  cancelled: "neutral",
};

export function StatusBadge({ status }: { readonly status: CampaignStatus }) {
  const label = status_options.find(({ value }) => value === status)?.label;
  return <Badge tone={status_tones[status]}>{label}</Badge>;
}

export function StateBadge({ state }: { readonly state: RecipientState }) {
  const label = state_options.find(({ value }) => value === state)?.label;
  return <Badge tone={state_tones[state]}>{label}</Badge>;
}
