/** Returns the median; of an even number of values, the upper of the two middle ones. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns the value that `percent` of the values do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const found = sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))];
  if (found === undefined) throw new Error("there are no values");
  return found;
}

/** Renders a Markdown table that is also readable in a terminal. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], fill = " ") =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(" | ")} |`;
  return [
    line(header),
    line(
      header.map(() => ""),
      "-",
    ),
    ...rows.map((row) => line(row)),
  ].join("\n");
}

/** Returns the cells of every table row in the output of `renderTable`. */
export function readTables(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
}
