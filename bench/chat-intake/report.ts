import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** Seconds of each contender. */
export type Round = {
  readonly json: number;
  readonly copy_json: number;
  readonly csv: number;
  readonly copy_csv: number;
};

export type Figures = {
  readonly rounds: readonly Round[];
  /** Of the server's process before the files, and the most while they came. */
  readonly idle_mb: number;
  readonly peak_mb: number;
  readonly rows: { readonly json: number; readonly csv: number };
};

/** The page that is printed and kept: the figures against their limits, each round, the machine. */
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
      "    the server's memory above idle (PSS), most",
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
    `Medians of ${rounds.length}; a ratio is the median of the rounds' ratios. Each begins with an empty table`,
    "of recipients and a fresh checkpoint; what is sent has one variable for the message and one beside it.",
    "",
    renderTable(["what", "time", "figure", "limit", ""], rows),
    "",
    "Each round, in seconds:",
    "",
    renderTable(["round", ...names], perRound),
  ]);
}
