/** The cell's text: trimmed, and without the apostrophe that an export puts before formula signs. */
export function cellText(cell: string | undefined): string {
  const text = (cell ?? "").trim();
  return /^'[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? text.slice(1).trim() : text;
}
