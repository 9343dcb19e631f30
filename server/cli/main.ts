#!/usr/bin/env node
// The operator's command line. Exit codes: 0 success, 1 failure or problems found, 2 invalid command line.
import { ConfigError } from "../config.ts";
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import { Refusal } from "../lib/errors.ts";
import { UsageError, type Command, type Outcome } from "./command.ts";
import { commands } from "./commands.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { readWords } from "./read-words.ts";
import { openSession } from "./session.ts";

const args = process.argv.slice(2);
const as_json = args.includes("--json");
try {
  process.exitCode = await main();
} catch (error) {
  process.exitCode = error instanceof UsageError ? 2 : 1;
  printError(error);
}

async function main(): Promise<number> {
  const command = commands.find(({ name }) => startsWith(name));
  if (!command) return printGeneralHelp();
  const session = openSession(process.env);
  try {
    const words = readWords(command, args.slice(command.name.split(" ").length));
    if (!words.flag("help")) return printOutcome(await command.run(session, words));
    console.log(commandHelp(command));
    return 0;
  } catch (error) {
    if (error instanceof UsageError) throw withHelp(error, command);
    throw error;
  } finally {
    await session.close();
  }
}

function startsWith(name: string): boolean {
  return name.split(" ").every((word, i) => args[i] === word);
}

function printOutcome({ json, text, bad = false }: Outcome): number {
  console.log(as_json ? JSON.stringify(json, null, 2) : text);
  return bad ? 1 : 0;
}

function printGeneralHelp(): number {
  const known = commands.filter(({ name }) => name.split(" ")[0] === args[0]);
  const asked = args[0] === undefined || args[0] === "--help" || args[0] === "help";
  if (asked || (known.length > 0 && args.includes("--help"))) {
    console.log(generalHelp(known.length > 0 ? known : commands));
    return 0;
  }
  if (known.length > 0)
    throw new UsageError(
      `incomplete command; use one of: ${known.map(({ name }) => name).join(", ")}`,
    );
  throw new UsageError(`unknown command "${args[0]}"; see trunkline --help`);
}

function withHelp(error: UsageError, { name }: Command): UsageError {
  return new UsageError(`${error.message}\nSee trunkline ${name} --help`, { cause: error });
}

function printError(error: unknown): void {
  const message = messageOf(error);
  if (!as_json) return console.error(message);
  const more = error instanceof Refusal ? { type: error.type, errors: error.errors } : {};
  console.error(JSON.stringify({ error: { message, ...more } }, null, 2));
}

function messageOf(error: unknown): string {
  if (error instanceof Refusal && error.errors)
    return error.errors.map(({ field, reason }) => `${field} ${reason}`).join("\n");
  if (error instanceof ConfigError || error instanceof UsageError) return (error as Error).message;
  const { code, message = String(error) } = error as { code?: string; message?: string };
  if (isDatabaseUnavailable(error)) return `The database cannot be reached: ${message || code}`;
  return message;
}
