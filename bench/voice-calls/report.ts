import type { Carried } from "../calls/call-records.ts";
import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";
import type { Paced } from "./invites.ts";

export const contenders = ["bare", "ours", "direct"] as const;
export type Contender = (typeof contenders)[number];

/** The processes whose processor time is measured. */
export const parts = ["ours", "bare", "database", "asterisk", "sipp"] as const;
/** Milliseconds of processor time per call. */
export type Costs = Readonly<Record<(typeof parts)[number], number>>;

export type CarriedRun = Carried & {
  readonly contender: Contender;
  readonly in_flight: number;
  /** Calls per second of the whole run, from the launch until its end is known. */
  readonly whole_per_second: number;
  readonly cpu_ms: Costs;
};

export type PacedRun = Paced & {
  /** The trunk's calls per second. */
  readonly rate: number;
  readonly cpu_ms: Costs;
};

export type Figures = {
  readonly carried: readonly CarriedRun[];
  readonly paced: readonly PacedRun[];
};

export type Scale = {
  readonly rounds: number;
  readonly in_flight: readonly number[];
  /** Calls of a run, as a multiple of the concurrent calls. */
  readonly waves: number;
  readonly rates: readonly number[];
  readonly paced_seconds: number;
  readonly audio_ms: number;
};

const limit = 0.9;
/** The share of the rate from which pacing counts as kept. */
const kept_share = 0.98;
const titles: Readonly<Record<Contender, string>> = {
  bare: "a bare ARI client",
  ours: "our campaign, to the bare client",
  direct: "SIPp calling the dialplan directly",
};

/** Renders the page that is printed and stored: figures and limits, pacing, processor time, each round. */
export function reportVoiceCalls(
  figures: Figures,
  scale: Scale,
  machine: readonly string[],
): string {
  return renderPage("Calls of voice campaigns", machine, [
    `Medians of ${scale.rounds}; a ratio is the median of the rounds' ratios. A run has ${scale.waves} calls for each`,
    `concurrent call; the far end answers after 200 ms, is played ${scale.audio_ms} ms of audio and hung up on. A rate is by`,
    "Asterisk's CDR, once the maximum of concurrent calls is reached; the whole run: from the launch until the",
    "last call has ended and, for ours, its recipient's state is final.",
    "",
    limits(figures.carried, scale),
    "",
    `Pacing of a trunk over ${scale.paced_seconds} s: INVITEs per second after those of the first fifth of a second, which`,
    "may start at once; and the maximum in any one second.",
    "",
    paces(figures.paced, scale),
    "",
    greatest(figures.paced, scale),
    "",
    "Milliseconds of processor time per call (all processes share the machine):",
    "",
    costs(figures, scale),
    "",
    "Each round, calls per second:",
    "",
    eachRound(figures, scale),
  ]);
}

function of(runs: readonly CarriedRun[], in_flight: number, contender: Contender) {
  return runs.filter((run) => run.in_flight === in_flight && run.contender === contender);
}

function limits(runs: readonly CarriedRun[], scale: Scale): string {
  const rows = scale.in_flight.flatMap((in_flight) =>
    contenders.map((contender) => {
      const mine = of(runs, in_flight, contender);
      const rate = median(mine.map(({ per_second }) => per_second));
      const whole = median(mine.map(({ whole_per_second }) => whole_per_second));
      const call_ms = median(mine.map((run) => run.call_ms));
      const row = [
        `${in_flight} at once: ${titles[contender]}`,
        `${rate.toFixed(1)}/s`,
        `${whole.toFixed(1)}/s`,
        `${Math.round(call_ms)} ms`,
      ];
      if (contender !== "ours") return [...row, "", "", ""];
      const bare = of(runs, in_flight, "bare");
      const ratio = median(mine.map(({ per_second }, i) => per_second / bare[i]!.per_second));
      return [...row, `${ratio.toFixed(2)} x`, `>= ${limit} x`, verdict(ratio >= limit)];
    }),
  );
  return renderTable(["what", "rate", "whole run", "call duration", "figure", "limit", ""], rows);
}

function exactnessOf(runs: readonly PacedRun[], rate: number): number {
  return median(runs.filter((run) => run.rate === rate).map(({ per_second }) => per_second / rate));
}

function paces(runs: readonly PacedRun[], { rates }: Scale): string {
  const rows = rates.map((rate) => {
    const mine = runs.filter((run) => run.rate === rate);
    const placed = median(mine.map(({ per_second }) => per_second));
    return [
      `${rate}/s`,
      `${placed.toFixed(1)}/s`,
      `${(100 * exactnessOf(runs, rate)).toFixed(1)} %`,
      String(Math.max(...mine.map(({ most }) => most))),
      String(mine.reduce((sum, { unanswered }) => sum + unanswered, 0)),
    ];
  });
  return renderTable(["set", "placed", "of the rate", "maximum in 1 s", "unanswered"], rows);
}

function greatest(runs: readonly PacedRun[], { rates }: Scale): string {
  const kept = rates.filter((rate) => exactnessOf(runs, rate) >= kept_share);
  const what = kept.length === 0 ? "none of these" : `${Math.max(...kept)}/s`;
  return `The highest rate that is kept (at least ${100 * kept_share} % of it): ${what}.`;
}

function costs({ carried, paced }: Figures, scale: Scale): string {
  const row = (what: string, runs: readonly { readonly cpu_ms: Costs }[]) => [
    what,
    ...parts.map((part) => median(runs.map(({ cpu_ms }) => cpu_ms[part])).toFixed(1)),
  ];
  const rows = [
    ...scale.in_flight.flatMap((in_flight) =>
      contenders.map((contender) =>
        row(`${in_flight} at once: ${titles[contender]}`, of(carried, in_flight, contender)),
      ),
    ),
    ...scale.rates.map((rate) =>
      row(
        `paced at ${rate}/s`,
        paced.filter((run) => run.rate === rate),
      ),
    ),
  ];
  return renderTable(["what", ...parts], rows);
}

function eachRound({ carried, paced }: Figures, scale: Scale): string {
  const columns = [
    ...scale.in_flight.flatMap((in_flight) =>
      contenders.map((contender) => ({
        title: `${in_flight}: ${contender}`,
        rates: of(carried, in_flight, contender).map(({ per_second }) => per_second),
      })),
    ),
    ...scale.rates.map((rate) => ({
      title: `at ${rate}/s`,
      rates: paced.filter((run) => run.rate === rate).map(({ per_second }) => per_second),
    })),
  ];
  const rows = Array.from({ length: scale.rounds }, (_, i) => [
    String(i + 1),
    ...columns.map(({ rates }) => rates[i]!.toFixed(1)),
  ]);
  return renderTable(["round", ...columns.map(({ title }) => title)], rows);
}
