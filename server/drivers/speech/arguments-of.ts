/** The words of a command of the operator's, cut at spaces, with its `{language}` filled in. */
export function argumentsOf(command: string, language: string): readonly string[] {
  return command
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll("{language}", language));
}
