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

/** What memory may differ by between the halves of an export: the collector's leisure, not its size. */
const growth_max = 1.25;
const slow_mb_max = 50;

/** The page that is printed and kept: the figures against their limits, the machine. */
export function reportExports(
  figures: readonly ExportFigures[],
  size: { readonly rows: number; readonly slow_seconds: number },
  machine: readonly string[],
): string {
  return renderPage("Exports", machine, [
    `${size.rows} rows each, read over HTTP to the last byte. \`\\copy\` writes the same rows, a call with its`,
    "legs, to /dev/null. One export went before. Memory is the server's process (PSS), looked at ten times a second.",
    `The slow reader takes a megabyte a second for ${size.slow_seconds} seconds.`,
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
      "    highest of the second half to that of the first",
      `${whole.late_mb.toFixed()} : ${whole.early_mb.toFixed()} MB`,
      `${growth.toFixed(2)} x`,
      `<= ${growth_max} x`,
      verdict(growth <= growth_max),
    ],
    [
      "    a slow reader: memory above before",
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
