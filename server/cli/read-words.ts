import { parseArgs } from "node:util";
import type { Static, TSchema } from "typebox";
import { compileValidator } from "../api/compile-validator.ts";
import { fieldErrors } from "../api/field-errors.ts";
import { UsageError, type Command, type Words } from "./command.ts";

/** Options of every command. */
export const common_options = {
  json: { about: "Print JSON" },
  help: { about: "Print this help" },
} as const;

/** Parses the arguments of a command. Throws UsageError for an unknown argument and for a missing one. */
export function readWords(command: Command, args: readonly string[]): Words {
  const own = { ...command.options, ...common_options };
  const options = Object.fromEntries(
    Object.entries(own).map(([name, option]) => [
      name,
      { type: "value" in option ? ("string" as const) : ("boolean" as const) },
    ]),
  );
  const { values, positionals } = parse(args, options);
  const words: Words = {
    operands: positionals,
    option: (name) => (typeof values[name] === "string" ? values[name] : undefined),
    flag: (name) => values[name] === true,
  };
  if (!words.flag("help")) requireAll(command, words);
  return words;
}

function parse(args: readonly string[], options: Record<string, { type: "string" | "boolean" }>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Only the first sentence: parseArgs appends advice about dashes.
    throw new UsageError((error as Error).message.replace(/\. .*$/s, ""));
  }
}

function requireAll(command: Command, words: Words): void {
  const operands = command.operands ?? [];
  const missing = [
    ...operands.slice(words.operands.length).map((operand) => `<${operand}>`),
    ...Object.entries(command.options ?? {})
      .filter(([name, option]) => option.required && words.option(name) === undefined)
      .map(([name]) => `--${name}`),
  ];
  if (missing.length > 0) throw new UsageError(`${missing.join(", ")} missing`);
  const surplus = words.operands.slice(operands.length);
  if (surplus.length > 0) throw new UsageError(`unexpected: ${surplus.join(" ")}`);
}

/** Parses an ID. `label` is the argument's name in the help. */
export function readId(label: string, text: string): number {
  const id = Number(text);
  if (!/^[0-9]{1,16}$/.test(text) || !Number.isSafeInteger(id))
    throw new UsageError(`${label}: "${text}" is not a valid ID`);
  return id;
}

/** Parses a number. Any other text is returned as it is, for the schema to reject. */
export function readNumber(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : text;
}

/** Parses yes or no. `name` is the option's name. */
export function readSwitch(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text !== "yes" && text !== "no") throw new UsageError(`--${name}: must be yes or no`);
  return text === "yes";
}

/** Parses a comma-separated list; "" is an empty list. */
export function readList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Validates `input`, without undefined values, against an API schema; throws UsageError with every violation. */
export function readAs<S extends TSchema>(schema: S, input: Record<string, unknown>): Static<S> {
  const given = Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  );
  const validate = compileValidator({ schema, httpPart: "body" });
  if (validate(given)) return given as Static<S>;
  const violations = fieldErrors(validate.errors ?? []);
  throw new UsageError(violations.map(({ field, reason }) => `${field} ${reason}`).join("\n"));
}
