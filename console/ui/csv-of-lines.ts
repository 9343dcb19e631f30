/** A CSV file of pasted text, one value a line, under a header. Commas and semicolons also separate. */
export function csvOfLines(header: string, text: string): File {
  const lines = linesOf(text).map((line) => `"${line.replaceAll('"', '""')}"`);
  return new File([[header, ...lines].join("\n")], "numbers.csv", { type: "text/csv" });
}

export function linesOf(text: string): readonly string[] {
  return text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
