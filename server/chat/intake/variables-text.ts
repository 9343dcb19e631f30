/**
 * A recipient's variables as JSON text with sorted keys: equal maps have equal texts, so that it serves
 * to tell bodies apart as well as to be stored.
 */
export function variablesText(variables: Readonly<Record<string, string>>): string {
  let last = "";
  let sorted = true;
  for (const name in variables) {
    if (name < last) sorted = false;
    last = name;
  }
  if (sorted) return JSON.stringify(variables);
  const entries = Object.keys(variables)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(variables[name])}`);
  return `{${entries.join(",")}}`;
}
