import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** Webhooks or responses per second. */
export type Round = {
  readonly hello: number;
  readonly hooks: number;
  readonly hooks_while_applied: number;
};

export type Figures = {
  readonly rounds: readonly Round[];
  readonly open_loop: { readonly rate: number; readonly p50_ms: number; readonly p99_ms: number };
  readonly applied_per_second: number;
};

/** Renders the page that is printed and stored: figures and limits, each round, machine. */
export function reportWebhooks(figures: Figures, machine: readonly string[]): string {
  const { rounds, open_loop } = figures;
  const middle = (name: keyof Round) =>
    `${Math.round(median(rounds.map((round) => round[name])))}/s`;
  const ratio = (name: keyof Round) => median(rounds.map((round) => round[name] / round.hello));
  const rows = [
    ["POST hello-world of the same server", middle("hello"), "", "", ""],
    [
      "webhooks stored",
      middle("hooks"),
      `${ratio("hooks").toFixed(2)} x`,
      ">= 0.5 x",
      verdict(ratio("hooks") >= 0.5),
    ],
    [
      "    while the same process applies them",
      middle("hooks_while_applied"),
      `${ratio("hooks_while_applied").toFixed(2)} x`,
      "",
      "",
    ],
    [
      "open loop at 70% of the maximum, p99",
      `${Math.round(open_loop.rate)}/s`,
      `${open_loop.p99_ms.toFixed(1)} ms`,
      "<= 50 ms",
      verdict(open_loop.p99_ms <= 50),
    ],
    ["    p50", "", `${open_loop.p50_ms.toFixed(1)} ms`, "", ""],
    ["webhooks applied from a backlog", `${Math.round(figures.applied_per_second)}/s`, "", "", ""],
  ];
  const names = ["hello", "hooks", "hooks_while_applied"] as const;
  const perRound = rounds.map((round, i) => [
    String(i + 1),
    ...names.map((name) => String(Math.round(round[name]))),
  ]);
  return renderPage("Delivery webhooks", machine, [
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios to hello-world. A webhook is`,
    "one signed status; the response follows its commit.",
    "",
    renderTable(["what", "rate", "figure", "limit", ""], rows),
    "",
    "Each round, per second:",
    "",
    renderTable(["round", ...names], perRound),
  ]);
}
