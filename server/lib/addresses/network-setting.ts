/**
 * Reads a setting that lists addresses and networks with commas between them. Reports each for which `problemOf` returns a
 * problem, with the setting's name and the value.
 */
export function networkSetting(
  name: string,
  text: string | undefined,
  problemOf: (entry: string) => string | null,
  violation: (text: string) => void,
): string[] {
  const entries = (text ?? "").split(",").map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== "");
  for (const entry of given) {
    const problem = problemOf(entry);
    if (problem !== null) violation(`${name}: "${entry}" ${problem}`);
  }
  return given;
}
