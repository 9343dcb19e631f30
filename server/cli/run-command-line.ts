// One run of the command line: finds the command, runs it, and says how it ended.
import { ConfigError } from "../config.ts";
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import { Refusal } from "../lib/errors.ts";
import { UsageError, type Command } from "./command.ts";
import { commands } from "./commands.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { printable } from "./printable.ts";
import { readWords } from "./read-words.ts";
import { openSession } from "./session.ts";

export type Ended = {
  /** 0 success, 1 failure or problems found, 2 invalid command line. */
  readonly code: 0 | 1 | 2;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs one command; never throws. Everything it opened is closed when it has ended. */
export async function runCommandLine(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Ended> {
  const as_json = args.includes("--json");
  try {
    const command = commands.find(({ name }) => startsWith(args, name));
    if (!command) return { code: 0, stdout: helpOf(args), stderr: "" };
    return await runCommand(command, args, env, as_json);
  } catch (error) {
    const code = error instanceof UsageError ? 2 : 1;
    return { code, stdout: "", stderr: `${printable(describe(error, as_json))}\n` };
  }
}

async function runCommand(
  command: Command,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  asJson: boolean,
): Promise<Ended> {
  const session = openSession(env);
  try {
    const words = readWords(command, args.slice(command.name.split(" ").length));
    if (words.flag("help")) return { code: 0, stdout: `${commandHelp(command)}\n`, stderr: "" };
    const { json, text, bad = false, aside = false } = await command.run(session, words);
    const result = `${printable(asJson ? JSON.stringify(json, null, 2) : text)}\n`;
    const [stdout, stderr] = aside ? ["", result] : [result, ""];
    return { code: bad ? 1 : 0, stdout, stderr };
  } catch (error) {
    if (error instanceof UsageError) throw withHelp(error, command);
    throw error;
  } finally {
    await session.close();
  }
}

function startsWith(args: readonly string[], name: string): boolean {
  return name.split(" ").every((word, i) => args[i] === word);
}

/** The help of all commands, or of those that begin with the first word. Throws UsageError. */
function helpOf(args: readonly string[]): string {
  const known = commands.filter(({ name }) => name.split(" ")[0] === args[0]);
  const asked = args[0] === undefined || args[0] === "--help" || args[0] === "help";
  if (asked || (known.length > 0 && args.includes("--help")))
    return `${generalHelp(known.length > 0 ? known : commands)}\n`;
  if (known.length > 0)
    throw new UsageError(
      `incomplete command; use one of: ${known.map(({ name }) => name).join(", ")}`,
    );
  throw new UsageError(`unknown command "${args[0]}"; see trunkline --help`);
}

function withHelp(error: UsageError, { name }: Command): UsageError {
  return new UsageError(`${error.message}\nSee trunkline ${name} --help`, { cause: error });
}

function describe(error: unknown, asJson: boolean): string {
  const message = messageOf(error);
  if (!asJson) return message;
  const more = error instanceof Refusal ? { type: error.type, errors: error.errors } : {};
  return JSON.stringify({ error: { message, ...more } }, null, 2);
}

function messageOf(error: unknown): string {
  if (error instanceof Refusal && error.errors)
    return error.errors.map(({ field, reason }) => `${field} ${reason}`).join("\n");
  if (error instanceof ConfigError || error instanceof UsageError) return (error as Error).message;
  const { code, message = String(error) } = error as { code?: string; message?: string };
  if (isDatabaseUnavailable(error)) return `The database cannot be reached: ${message || code}`;
  return message;
}
