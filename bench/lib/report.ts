/** A bench's page: its title, the machine, then the lines of the body. */
export function renderPage(
  title: string,
  machine: readonly string[],
  body: readonly string[],
): string {
  return [`# ${title}`, "", ...machine.map((fact) => `- ${fact}`), "", ...body, ""].join("\n");
}

/** The last cell of a row that has a limit. */
export function verdict(isMet: boolean): "met" | "missed" {
  return isMet ? "met" : "missed";
}
