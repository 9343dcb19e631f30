import { beginsFormula } from "./inert-cell.ts";

/** The cell's text: trimmed, and without the apostrophe that an export puts before formula signs. */
export function cellText(cell: string | undefined): string {
  const text = (cell ?? "").trim();
  return text.startsWith("'") && beginsFormula(text.slice(1)) ? text.slice(1).trim() : text;
}
