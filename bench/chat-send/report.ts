import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** The rate of one contender, from the first to the last message at the far end. */
export type Sent = {
  readonly per_second: number;
  /** Microseconds of processor time per message, by process. */
  readonly cpu_us: Readonly<Record<string, number>>;
};

/** Our rate, with figures of the sender's iterations. */
export type SentByUs = Sent & {
  readonly messages_per_iteration: number;
  /** The duration of an iteration's statement, including its commit. */
  readonly iteration_ms: number;
};

export type Round = {
  /** The far end responds after a delay. */
  readonly slow: { readonly ours: SentByUs; readonly bare: Sent };
  /** The far end responds at once. */
  readonly fast: {
    readonly ours: SentByUs;
    readonly bare: Sent;
    readonly bullmq: Sent & { readonly added_per_second: number };
  };
};

/** Renders the page that is printed and stored: figures and limits, processor time, each round. */
export function reportSends(
  rounds: readonly Round[],
  scale: { readonly slow_count: number; readonly fast_count: number; readonly delay_ms: number },
  machine: readonly string[],
): string {
  const middle = (of: (round: Round) => number) => median(rounds.map(of));
  const rate = (of: (round: Round) => number) => `${Math.round(middle(of))}/s`;
  const against = (of: (round: Round) => number, limit: number) => [
    `${middle(of).toFixed(2)} x`,
    `>= ${limit} x`,
    verdict(middle(of) >= limit),
  ];
  const plain = ["", "", ""];
  const late = `answers after ${scale.delay_ms} ms`;
  const rows = [
    [`${late}: a bare undici loop`, rate(({ slow }) => slow.bare.per_second), ...plain],
    [
      `${late}: our campaign, to the bare loop`,
      rate(({ slow }) => slow.ours.per_second),
      ...against(({ slow }) => slow.ours.per_second / slow.bare.per_second, 0.95),
    ],
    ["answers at once: a bare undici loop", rate(({ fast }) => fast.bare.per_second), ...plain],
    ["answers at once: BullMQ's jobs", rate(({ fast }) => fast.bullmq.per_second), ...plain],
    [
      "answers at once: our campaign, to the bare loop",
      rate(({ fast }) => fast.ours.per_second),
      ...against(({ fast }) => fast.ours.per_second / fast.bare.per_second, 0.5),
    ],
    [
      "answers at once: our campaign, to BullMQ's jobs",
      "",
      ...against(({ fast }) => fast.ours.per_second / fast.bullmq.per_second, 2),
    ],
    ["BullMQ's jobs added", rate(({ fast }) => fast.bullmq.added_per_second), ...plain],
  ];
  return renderPage("Sending campaigns", machine, [
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios. 100 requests in flight,`,
    `${scale.slow_count} messages where the far end answers late, ${scale.fast_count} where at once; a rate counts from the`,
    "first to the last message in the far end's log. BullMQ keeps its jobs in Redis with an append-only",
    "file flushed every second; we commit each iteration to disk.",
    "",
    renderTable(["what", "rate", "figure", "limit", ""], rows),
    "",
    "Microseconds of processor time per message (the far end and the sender share the processor with the",
    "database):",
    "",
    costs(rounds),
    "",
    "Each round, messages per second:",
    "",
    perRound(rounds),
  ]);
}

function costs(rounds: readonly Round[]): string {
  const parts = ["sender", "database", "far end"] as const;
  const row = (name: string, of: (round: Round) => Sent, ours?: (round: Round) => SentByUs) => {
    const middle = (figure: (round: Round) => number) => median(rounds.map(figure));
    return [
      name,
      ...parts.map((part) => middle((round) => of(round).cpu_us[part] ?? 0).toFixed(0)),
      ours ? middle((round) => ours(round).messages_per_iteration).toFixed(1) : "",
      ours ? middle((round) => ours(round).iteration_ms).toFixed(2) : "",
    ];
  };
  return renderTable(
    ["what", ...parts, "messages per iteration", "ms per iteration"],
    [
      row("late: bare loop", ({ slow }) => slow.bare),
      row(
        "late: ours",
        ({ slow }) => slow.ours,
        ({ slow }) => slow.ours,
      ),
      row("at once: bare loop", ({ fast }) => fast.bare),
      row("at once: BullMQ", ({ fast }) => fast.bullmq),
      row(
        "at once: ours",
        ({ fast }) => fast.ours,
        ({ fast }) => fast.ours,
      ),
    ],
  );
}

function perRound(rounds: readonly Round[]): string {
  return renderTable(
    ["round", "late: bare", "late: ours", "at once: bare", "at once: BullMQ", "at once: ours"],
    rounds.map(({ slow, fast }, i) =>
      [i + 1, slow.bare, slow.ours, fast.bare, fast.bullmq, fast.ours].map((cell) =>
        typeof cell === "number" ? String(cell) : String(Math.round(cell.per_second)),
      ),
    ),
  );
}
