import { renderTable } from "../lib/figures.ts";
import { renderPage, verdict } from "../lib/report.ts";
import type { Slow, Whole } from "./readers.ts";

export type ExportFigures = {
  readonly name: string;
  readonly idle_mb: number;
  readonly copy_seconds: number;
  readonly whole: Whole;
  readonly after_mb: number;
  readonly slow: Slow;
};

/** The limit of memory growth between the halves of an export, which allows for garbage collection. */
const growth_max = 1.25;
const slow_mb_max = 50;

/** Renders the page that is printed and stored: figures, limits and machine. */
export function reportExports(
  figures: readonly ExportFigures[],
  size: { readonly rows: number; readonly slow_seconds: number },
  machine: readonly string[],
): string {
  return renderPage("Exports", machine, [
    `${size.rows} rows each, read over HTTP to the last byte. \`\\copy\` writes the same rows, a call with its`,
    "legs, to /dev/null. One export ran before. Memory is the server's process (PSS), measured ten times per second.",
    `The slow reader reads one megabyte per second for ${size.slow_seconds} seconds.`,
    "",
    renderTable(["what", "measured", "figure", "limit", ""], figures.flatMap(rowsOf)),
  ]);
}

function rowsOf({ name, idle_mb, copy_seconds, whole, after_mb, slow }: ExportFigures): string[][] {
  const highest_mb = Math.max(whole.early_mb, whole.late_mb);
  const growth = whole.late_mb / whole.early_mb;
  const slow_mb = slow.highest_mb - after_mb;
  const ratio = whole.seconds / copy_seconds;
  return [
    [
      `${name}, ${whole.megabytes.toFixed()} MB`,
      `${whole.seconds.toFixed(1)} s`,
      `${ratio.toFixed(1)} x psql`,
      "",
      "",
    ],
    ["    psql \\copy", `${copy_seconds.toFixed(1)} s`, "", "", ""],
    [
      "    memory, idle / highest / after",
      `${idle_mb.toFixed()} / ${highest_mb.toFixed()} / ${after_mb.toFixed()} MB`,
      "",
      "",
      "",
    ],
    [
      "    maximum of the second half relative to the first",
      `${whole.late_mb.toFixed()} : ${whole.early_mb.toFixed()} MB`,
      `${growth.toFixed(2)} x`,
      `<= ${growth_max} x`,
      verdict(growth <= growth_max),
    ],
    [
      "    a slow reader: additional memory",
      `${slow.megabytes.toFixed()} MB read`,
      `${slow_mb.toFixed()} MB`,
      `<= ${slow_mb_max} MB`,
      verdict(slow_mb <= slow_mb_max),
    ],
    [
      "    a slow reader: transactions held open",
      "",
      String(slow.transactions),
      "0",
      verdict(slow.transactions === 0),
    ],
  ];
}
