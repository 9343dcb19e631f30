import { plainCell } from "./inert-cell.ts";

/** Returns the cell's text, trimmed and without the apostrophes that an export puts before formula signs. */
export function cellText(cell: string | undefined): string {
  return plainCell((cell ?? "").trim()).trim();
}
