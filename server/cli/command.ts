// What one command of the command line is. The explicit list of all of them is commands.ts.
import type { Session } from "./session.ts";

/** `--name <value>`; a flag has no value. */
export type Option = {
  /** What stands for the value in the help; absent for a flag. */
  readonly value?: string;
  readonly about: string;
  readonly required?: true;
};

/** The words a person typed after the command. */
export type Words = {
  readonly operands: readonly string[];
  /** The value of an option, "" included, or undefined when it was not given. */
  option(name: string): string | undefined;
  flag(name: string): boolean;
};

/** What a command tells: the same for machines and for people. */
export type Outcome = {
  readonly json: unknown;
  readonly text: string;
  /** The command ran, and what it found is bad: exit code 1. */
  readonly bad?: boolean;
};

export type Command = {
  /** As it is typed: `account create`. */
  readonly name: string;
  readonly summary: string;
  /** Each is required. */
  readonly operands?: readonly string[];
  readonly options?: Readonly<Record<string, Option>>;
  readonly run: (session: Session, words: Words) => Promise<Outcome>;
};

/** The command was typed wrongly: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
