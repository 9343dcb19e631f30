/** Renders a benchmark's page: title, machine, body. */
export function renderPage(
  title: string,
  machine: readonly string[],
  body: readonly string[],
): string {
  return [`# ${title}`, "", ...machine.map((fact) => `- ${fact}`), "", ...body, ""].join("\n");
}

/** Returns the last cell of a row with a limit. */
export function verdict(isMet: boolean): "met" | "missed" {
  return isMet ? "met" : "missed";
}
