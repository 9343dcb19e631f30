import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";
import type { Carried } from "../calls/call-records.ts";

export type Contender = "bare" | "ours" | "bare_recorded" | "ours_recorded" | "direct";

export type Run = Carried & {
  /** Milliseconds of processor time per call, by process. */
  readonly cpu_ms: Readonly<Record<string, number>>;
};

export type Round = Readonly<Record<Contender, Run>>;

const limit = 0.9;
const titles: Readonly<Record<Contender, string>> = {
  bare: "a bare ARI client",
  ours: "our click-to-calls, to the bare client",
  bare_recorded: "recorded: a bare ARI client",
  ours_recorded: "recorded: our click-to-calls, to the bare client",
  direct: "SIPp calling the dialplan directly (one leg)",
};
const names = Object.keys(titles) as Contender[];

/** Renders the page that is printed and stored: figures and limits, processor time, each round. */
export function reportCarried(
  rounds: readonly Round[],
  scale: { readonly count: number; readonly in_flight: number; readonly talk_ms: number },
  machine: readonly string[],
): string {
  return renderPage("Calls carried", machine, [
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios. ${scale.count} calls per run, ${scale.in_flight} at once for`,
    `each contender; both ends answer after 200 ms, the customer hangs up after ${scale.talk_ms} ms. A rate is by`,
    "Asterisk's CDR; a call's duration is from the start of its first leg to the end of its last leg.",
    "",
    renderTable(["what", "rate", "call duration", "figure", "limit", ""], limits(rounds)),
    "",
    "Milliseconds of processor time per call (all processes share the machine):",
    "",
    costs(rounds),
    "",
    "Each round, calls per second:",
    "",
    renderTable(
      ["round", ...names],
      rounds.map((round, i) => [
        String(i + 1),
        ...names.map((name) => round[name].per_second.toFixed(1)),
      ]),
    ),
  ]);
}

function limits(rounds: readonly Round[]): string[][] {
  const against: Readonly<Partial<Record<Contender, Contender>>> = {
    ours: "bare",
    ours_recorded: "bare_recorded",
  };
  return names.map((name) => {
    const rate = median(rounds.map((round) => round[name].per_second));
    const call_ms = median(rounds.map((round) => round[name].call_ms));
    const row = [titles[name], `${rate.toFixed(1)}/s`, `${Math.round(call_ms)} ms`];
    const other = against[name];
    if (!other) return [...row, "", "", ""];
    const ratio = median(rounds.map((round) => round[name].per_second / round[other].per_second));
    return [...row, `${ratio.toFixed(2)} x`, `>= ${limit} x`, verdict(ratio >= limit)];
  });
}

function costs(rounds: readonly Round[]): string {
  const parts = ["ours", "bare", "database", "asterisk", "sipp"];
  const rows = names.map((name) => [
    titles[name],
    ...parts.map((part) => median(rounds.map((round) => round[name].cpu_ms[part] ?? 0)).toFixed(1)),
  ]);
  return renderTable(["what", ...parts], rows);
}
