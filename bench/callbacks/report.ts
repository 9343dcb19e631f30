import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** One contender's callbacks, from the first to the last at the receivers. */
export type Rate = {
  readonly per_second: number;
  /** Microseconds of processor time a callback, by process. */
  readonly cpu_us: Readonly<Record<string, number>>;
};

/** Ours says how it went about it. */
export type OurRate = Rate & {
  readonly callbacks_per_turn: number;
  /** From asking for a turn to its answer, with what else the processor did meanwhile. */
  readonly turn_ms: number;
};

export type Round = {
  readonly ours: OurRate;
  readonly bare: Rate;
  /** Until the healthy endpoints had been told of everything, beside one that hangs and without it. */
  readonly beside_bad_ms: number;
  readonly alone_ms: number;
};

/** What was aimed at: the time beside a bad endpoint to that without it. */
const bad_max = 1.1;

/** The page that is printed and kept. */
export function reportCallbacks(
  rounds: readonly Round[],
  scale: { readonly endpoints: number; readonly count: number; readonly bad_count: number },
  machine: readonly string[],
): string {
  const middle = (of: (round: Round) => number) => median(rounds.map(of));
  const rate = (of: (round: Round) => number) => `${Math.round(middle(of))}/s`;
  const bad = middle(({ beside_bad_ms, alone_ms }) => beside_bad_ms / alone_ms);
  const toBare = middle(({ ours, bare }) => ours.per_second / bare.per_second);
  const seconds = (of: (round: Round) => number) => `${(middle(of) / 1_000).toFixed(2)} s`;
  const rows = [
    ["a bare undici loop", rate(({ bare }) => bare.per_second), "", "", ""],
    [
      "callbacks delivered by one worker, to the bare loop",
      rate(({ ours }) => ours.per_second),
      `${toBare.toFixed(2)} x`,
      "",
      "",
    ],
    ["healthy endpoints alone", seconds(({ alone_ms }) => alone_ms), "", "", ""],
    [
      "healthy endpoints beside one that hangs",
      seconds(({ beside_bad_ms }) => beside_bad_ms),
      `${bad.toFixed(2)} x`,
      `<= ${bad_max} x`,
      verdict(bad <= bad_max),
    ],
  ];
  return renderPage("Callbacks", machine, [
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios. ${scale.count} events to`,
    `${scale.endpoints} endpoints that answer at once, 32 requests under way to each; a rate counts from the first to`,
    "the last request at the receivers. Ours are signed, and each attempt is recorded. The bare loop",
    `sends the same bodies. Beside one that hangs: ${scale.bad_count} events to ${scale.endpoints} endpoints, of which one`,
    `never answers, until the ${scale.endpoints - 1} others have all; alone: the same to those ${scale.endpoints - 1}.`,
    "",
    renderTable(["what", "measured", "figure", "limit", ""], rows),
    "",
    "Microseconds of processor time a callback (receivers, sender and database share the processor):",
    "",
    costs(rounds),
    "",
    "Each round:",
    "",
    renderTable(
      ["round", "bare", "ours", "alone", "beside a bad one"],
      rounds.map(({ bare, ours, alone_ms, beside_bad_ms }, i) => [
        String(i + 1),
        `${Math.round(bare.per_second)}/s`,
        `${Math.round(ours.per_second)}/s`,
        `${Math.round(alone_ms)} ms`,
        `${Math.round(beside_bad_ms)} ms`,
      ]),
    ),
  ]);
}

function costs(rounds: readonly Round[]): string {
  const parts = ["sender", "database", "receivers"];
  const middle = (of: (round: Round) => number) => median(rounds.map(of));
  const row = (name: string, of: (round: Round) => Rate, turns: readonly string[]) => [
    name,
    ...parts.map((part) => middle((round) => of(round).cpu_us[part] ?? 0).toFixed(0)),
    ...turns,
  ];
  const per_turn = middle(({ ours }) => ours.callbacks_per_turn).toFixed(1);
  const turn_ms = middle(({ ours }) => ours.turn_ms).toFixed(1);
  return renderTable(
    ["what", ...parts, "callbacks a turn", "ms a turn"],
    [
      row("bare loop", ({ bare }) => bare, ["", ""]),
      row("ours", ({ ours }) => ours, [per_turn, turn_ms]),
    ],
  );
}
