import { onOneLine } from "./printable.ts";

/** Formats rows as aligned columns with a header; "-" stands for null, "none" for no rows. */
export function textTable<Row extends object>(
  rows: readonly Row[],
  columns: readonly (keyof Row & string)[],
): string {
  if (rows.length === 0) return "none";
  const lines = [
    columns,
    ...rows.map((row) => columns.map((column) => onOneLine(cell(row[column])))),
  ];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines
    .map((line) =>
      line
        .map((text, i) => text.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.join(",") || "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}
