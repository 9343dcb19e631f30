import { median, renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";

/** The duration of each contender in seconds. */
export type Round = { readonly launch: number; readonly copy: number };

export type Figures = {
  readonly rounds: readonly Round[];
  /** The memory of the server's process before the uploads, and its maximum during them. */
  readonly idle_mb: number;
  readonly peak_mb: number;
  readonly rows: number;
};

/** Renders the page that is printed and stored: figures and limits, each round, machine. */
export function reportLaunch(figures: Figures, machine: readonly string[]): string {
  const { rounds, idle_mb, peak_mb, rows: size } = figures;
  const middle = (name: keyof Round) =>
    `${median(rounds.map((round) => round[name])).toFixed(2)} s`;
  const ratio = median(rounds.map(({ launch, copy }) => launch / copy));
  const grown_mb = peak_mb - idle_mb;
  const rows = [
    [
      `${size} recipients from CSV, to 201`,
      middle("launch"),
      `${ratio.toFixed(2)} x`,
      "<= 3 x",
      verdict(ratio <= 3),
    ],
    ["    psql \\copy of the same rows", middle("copy"), "", "", ""],
    [
      "    the server's maximum memory above idle (PSS)",
      `${idle_mb.toFixed()} MB idle`,
      `${grown_mb.toFixed()} MB`,
      "<= 300 MB",
      verdict(grown_mb <= 300),
    ],
  ];
  const perRound = rounds.map(({ launch, copy }, i) => [
    String(i + 1),
    launch.toFixed(2),
    copy.toFixed(2),
  ]);
  return renderPage("Launching voice campaigns", machine, [
    `Medians of ${rounds.length}; the ratio is the median of the rounds' ratios. Each starts with an empty table`,
    "of recipients and a fresh checkpoint. Numbers have +91 and a space; the script uses one of two more columns.",
    "",
    renderTable(["what", "time", "figure", "limit", ""], rows),
    "",
    "Each round, in seconds:",
    "",
    renderTable(["round", "launch", "copy"], perRound),
  ]);
}
