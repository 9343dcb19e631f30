import type { Log } from "../../lib/log.ts";
import type { TokenDirectory } from "./token-directory.ts";

const every_ms = 30_000;

/** Saves the last uses of tokens now and then; the returned stop saves them once more. */
export function saveLastUses(tokens: TokenDirectory, log: Log): () => Promise<void> {
  // One after the other: a stop waits for the save under way, too.
  let saved = Promise.resolve();
  const save = () =>
    (saved = saved
      .then(tokens.saveLastUses)
      .catch((err: unknown) => log.warn({ err }, "the last uses of tokens were not saved")));
  const timer = setInterval(() => void save(), every_ms);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await save();
  };
}
