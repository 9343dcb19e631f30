import type { Log } from "../../lib/log.ts";
import type { TokenDirectory } from "./token-directory.ts";

const every_ms = 30_000;

/** Saves the last uses of tokens at intervals; the returned function stops and saves once more. */
export function saveLastUses(tokens: TokenDirectory, log: Log): () => Promise<void> {
  // One at a time: a stop also waits for a save in progress.
  let saved = Promise.resolve();
  const save = () =>
    (saved = saved
      .then(tokens.saveLastUses)
      .catch((err: unknown) => log.warn({ err }, "could not save the last uses of tokens")));
  const timer = setInterval(() => void save(), every_ms);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await save();
  };
}
