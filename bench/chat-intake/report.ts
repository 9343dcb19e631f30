import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** The duration of each contender in seconds. */
export type Round = {
  readonly json: number;
  readonly copy_json: number;
  readonly csv: number;
  readonly copy_csv: number;
};

export type Figures = {
  readonly rounds: readonly Round[];
  /** The memory of the server's process before the uploads, and its maximum during them. */
  readonly idle_mb: number;
  readonly peak_mb: number;
  readonly rows: { readonly json: number; readonly csv: number };
};

/** Renders the page that is printed and stored: figures and limits, each round, machine. */
export function reportIntake(figures: Figures, machine: readonly string[]): string {
  const { rounds, idle_mb, peak_mb, rows: size } = figures;
  const middle = (name: keyof Round) =>
    `${median(rounds.map((round) => round[name])).toFixed(2)} s`;
  const against = (name: keyof Round, to: keyof Round) => {
    const ratio = median(rounds.map((round) => round[name] / round[to]));
    return [`${ratio.toFixed(2)} x`, "<= 3 x", verdict(ratio <= 3)];
  };
  const grown_mb = peak_mb - idle_mb;
  const rows = [
    [
      `${size.json} recipients in one JSON body, to 201`,
      middle("json"),
      ...against("json", "copy_json"),
    ],
    ["    psql \\copy of the same rows", middle("copy_json"), "", "", ""],
    [`${size.csv} recipients from CSV, to 201`, middle("csv"), ...against("csv", "copy_csv")],
    ["    psql \\copy of the same rows", middle("copy_csv"), "", "", ""],
    [
      "    the server's maximum memory above idle (PSS)",
      `${idle_mb.toFixed()} MB idle`,
      `${grown_mb.toFixed()} MB`,
      "<= 300 MB",
      verdict(grown_mb <= 300),
    ],
  ];
  const names = ["json", "copy_json", "csv", "copy_csv"] as const;
  const perRound = rounds.map((round, i) => [
    String(i + 1),
    ...names.map((name) => round[name].toFixed(2)),
  ]);
  return renderPage("Creating chat campaigns", machine, [
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios. Each starts with an empty table`,
    "of recipients and a fresh checkpoint; every row has one variable of the message and one other.",
    "",
    renderTable(["what", "time", "figure", "limit", ""], rows),
    "",
    "Each round, in seconds:",
    "",
    renderTable(["round", ...names], perRound),
  ]);
}
