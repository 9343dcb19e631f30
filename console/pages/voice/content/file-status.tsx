import type { VoiceFile } from "../../../api/voice.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";

const words: Readonly<
  Record<VoiceFile["status"], { readonly label: string; readonly tone: Tone }>
> = {
  processing: { label: "Processing", tone: "busy" },
  ready: { label: "Ready", tone: "good" },
  rejected: { label: "Rejected", tone: "bad" },
};

export function FileStatus({ file: { status, active } }: { readonly file: VoiceFile }) {
  if (!active) return <Badge tone="neutral">Archived</Badge>;
  const { label, tone } = words[status];
  return <Badge tone={tone}>{label}</Badge>;
}
