// The parts of a command. commands.ts lists all commands.
import type { Session } from "./session.ts";

/** `--name <value>`; a flag has no value. */
export type Option = {
  /** Placeholder of the value in the help; absent for a flag. */
  readonly value?: string;
  readonly about: string;
  readonly required?: true;
};

/** The parsed arguments of a command. */
export type Words = {
  readonly operands: readonly string[];
  /** The value of an option, possibly "", or undefined when it was not given. */
  option(name: string): string | undefined;
  flag(name: string): boolean;
};

/** The result of a command, with the same content for machines and for people. */
export type Outcome = {
  readonly json: unknown;
  readonly text: string;
  /** The command ran and found problems: exit code 1. */
  readonly bad?: boolean;
  /** The command wrote data to standard output, so the result goes to standard error. */
  readonly aside?: boolean;
};

export type Command = {
  /** As typed: `account create`. */
  readonly name: string;
  readonly summary: string;
  /** All are required. */
  readonly operands?: readonly string[];
  readonly options?: Readonly<Record<string, Option>>;
  readonly run: (session: Session, words: Words) => Promise<Outcome>;
};

/** An invalid command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
