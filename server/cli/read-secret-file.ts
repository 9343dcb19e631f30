import { readFile } from "node:fs/promises";
import { UsageError, type Words } from "./command.ts";

/** Reads a secret from the file that an option names, without surrounding white space; undefined without the option. */
export async function readSecretFile(words: Words, option: string): Promise<string | undefined> {
  const file = words.option(option);
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new UsageError(`cannot read --${option}: ${(error as Error).message}`);
  });
  return text.trim();
}
