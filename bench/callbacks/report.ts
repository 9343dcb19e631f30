import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** The rate of one contender, from the first to the last callback at the receivers. */
export type Rate = {
  readonly per_second: number;
  /** Microseconds of processor time per callback, by process. */
  readonly cpu_us: Readonly<Record<string, number>>;
};

/** Our rate, with figures of the deliverers' iterations. */
export type OurRate = Rate & {
  readonly callbacks_per_iteration: number;
  /** The duration of an iteration's statement, including other work of the process. */
  readonly iteration_ms: number;
};

export type Round = {
  readonly ours: OurRate;
  readonly bare: Rate;
  /** Until the healthy endpoints received everything, beside an endpoint that hangs and without it. */
  readonly beside_bad_ms: number;
  readonly alone_ms: number;
};

/** The limit: the time beside a hanging endpoint relative to the time without it. */
const bad_max = 1.1;

/** Renders the page that is printed and stored. */
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
    `${scale.endpoints} endpoints that answer at once, 32 requests in flight to each; a rate counts from the first to`,
    "the last request at the receivers. Ours are signed, and each attempt is recorded. The bare loop",
    `sends the same bodies. Beside one that hangs: ${scale.bad_count} events to ${scale.endpoints} endpoints, of which one`,
    `never answers, until the ${scale.endpoints - 1} others have all; alone: the same to those ${scale.endpoints - 1}.`,
    "",
    renderTable(["what", "measured", "figure", "limit", ""], rows),
    "",
    "Microseconds of processor time per callback (receivers, sender and database share the processor):",
    "",
    costs(rounds),
    "",
    "Each round:",
    "",
    renderTable(
      ["round", "bare", "ours", "alone", "beside one that hangs"],
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
  const row = (name: string, of: (round: Round) => Rate, iterations: readonly string[]) => [
    name,
    ...parts.map((part) => middle((round) => of(round).cpu_us[part] ?? 0).toFixed(0)),
    ...iterations,
  ];
  const per_iteration = middle(({ ours }) => ours.callbacks_per_iteration).toFixed(1);
  const iteration_ms = middle(({ ours }) => ours.iteration_ms).toFixed(1);
  return renderTable(
    ["what", ...parts, "callbacks per iteration", "ms per iteration"],
    [
      row("bare loop", ({ bare }) => bare, ["", ""]),
      row("ours", ({ ours }) => ours, [per_iteration, iteration_ms]),
    ],
  );
}
