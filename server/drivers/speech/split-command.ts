/** Splits an operator's command at spaces and fills in its `{language}`. */
export function splitCommand(command: string, language: string): readonly string[] {
  return command
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll("{language}", language));
}
