import type { Carried } from "../calls/call-records.ts";
import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";
import type { Paced } from "./invites.ts";

export const contenders = ["bare", "ours", "straight"] as const;
export type Contender = (typeof contenders)[number];

/** Of whom the processor time is. */
export const parts = ["ours", "bare", "database", "asterisk", "sipp"] as const;
/** Milliseconds of processor time a call. */
export type Costs = Readonly<Record<(typeof parts)[number], number>>;

export type CarriedRun = Carried & {
  readonly contender: Contender;
  readonly in_flight: number;
  /** Calls over a second, from the order to the last one's end as its giver learns it. */
  readonly whole_per_second: number;
  readonly cpu_ms: Costs;
};

export type PacedRun = Paced & {
  /** What the trunk allows. */
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
  /** Calls of a run for each that may go on at once. */
  readonly waves: number;
  readonly rates: readonly number[];
  readonly paced_seconds: number;
  readonly audio_ms: number;
};

const limit = 0.9;
/** A pace is held that falls short of the rate by no more. */
const held = 0.98;
const titles: Readonly<Record<Contender, string>> = {
  bare: "a bare ARI client",
  ours: "our campaign, to the bare client",
  straight: "sipp straight at the dialplan",
};

/** The page that is printed and kept: the figures against their limits, the pace, where the time goes, each round. */
export function reportVoiceCalls(
  figures: Figures,
  scale: Scale,
  machine: readonly string[],
): string {
  return renderPage("Calls of voice campaigns", machine, [
    `Medians of ${scale.rounds}; a ratio is the median of the rounds' ratios. ${scale.waves} calls a run for each that may go`,
    `on at once; the far end answers after 200 ms, hears ${scale.audio_ms} ms, and is hung up on. A rate is by`,
    "Asterisk's own records, once all places are taken; the whole: from the launch's request, or the order,",
    "until the last call is over and, of ours, its recipient's state final.",
    "",
    limits(figures.carried, scale),
    "",
    `The pace that a trunk is set to, over ${scale.paced_seconds} s: INVITEs a second once the first fifth of a second's are out,`,
    "which may go at once, until the last one; and the most in any one second.",
    "",
    paces(figures.paced, scale),
    "",
    greatest(figures.paced, scale),
    "",
    "Where the time goes, milliseconds of processor time a call (all share the machine):",
    "",
    costs(figures, scale),
    "",
    "Each round, calls a second:",
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
  return renderTable(["what", "rate", "the whole", "a call's time", "figure", "limit", ""], rows);
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
  return renderTable(["set", "placed", "of what is set", "most in 1 s", "unanswered"], rows);
}

function greatest(runs: readonly PacedRun[], { rates }: Scale): string {
  const kept = rates.filter((rate) => exactnessOf(runs, rate) >= held);
  const what = kept.length === 0 ? "none of these" : `${Math.max(...kept)}/s`;
  return `The greatest that is held (at least ${100 * held} % of it): ${what}.`;
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
