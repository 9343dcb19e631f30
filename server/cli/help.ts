import type { Command, Option } from "./command.ts";
import { common_options } from "./read-words.ts";

/** Returns the help that lists all commands. */
export function generalHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    "Usage: trunkline <command> [options]",
    "",
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "Every command takes --json and --help. Settings come from the server's environment variables:",
    "DATABASE_URL, or DATA_DIR for the embedded database, which may be running.",
    "Exit codes: 0 success, 1 failure or problems found, 2 invalid command line.",
  ].join("\n");
}

/** Returns the help of one command. */
export function commandHelp(command: Command): string {
  const own = Object.entries(command.options ?? {});
  const options: [string, Option][] = [...own, ...Object.entries(common_options)];
  const spelt = options.map(([name, { value }]) => `--${name}${value ? ` <${value}>` : ""}`);
  const width = Math.max(...spelt.map(({ length }) => length));
  return [
    `${command.summary}.`,
    "",
    `Usage: ${["trunkline", command.name, ...operandsOf(command), "[options]"].join(" ")}`,
    "",
    ...options.map(
      ([, { about, required }], i) =>
        `  ${spelt[i]!.padEnd(width)}  ${about}${required ? " (required)" : ""}`,
    ),
  ].join("\n");
}

function operandsOf({ operands = [] }: Command): string[] {
  return operands.map((operand) => `<${operand}>`);
}
