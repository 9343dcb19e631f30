import type { ReactNode } from "react";

const tones = {
  neutral: "bg-hover text-ink",
  good: "bg-good-soft text-good",
  busy: "bg-accent-soft text-accent",
  warning: "bg-warning-soft text-warning",
  bad: "bg-danger-soft text-danger",
} as const;

export type Tone = keyof typeof tones;

/** A state in a word; its color repeats what the word says. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center rounded-full px-2.5 py-0.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  );
}
