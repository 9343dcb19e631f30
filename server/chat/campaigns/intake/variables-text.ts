/**
 * Returns a recipient's variables as JSON text with sorted keys: equal maps have equal texts, so
 * that the text serves both fingerprints and storage.
 */
export function variablesText(variables: Readonly<Record<string, string>>): string {
  const names = Object.keys(variables);
  if (names.every((name, i) => i === 0 || names[i - 1]! < name)) return JSON.stringify(variables);
  const entries = names
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(variables[name])}`);
  return `{${entries.join(",")}}`;
}
