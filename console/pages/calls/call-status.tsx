import type { CallStatus } from "../../api/call-records.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { status_options } from "./calls-search.ts";

const tones: Readonly<Record<CallStatus, Tone>> = {
  queued: "neutral",
  ringing: "busy",
  "in-progress": "busy",
  completed: "good",
  busy: "warning",
  "no-answer": "warning",
  failed: "bad",
  canceled: "neutral",
};

export function CallStatusBadge({ status }: { readonly status: CallStatus }) {
  const label = status_options.find(({ value }) => value === status)?.label;
  return <Badge tone={tones[status]}>{label}</Badge>;
}
