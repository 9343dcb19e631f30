import { useRef } from "react";
import { NotSent } from "../api/described-write.ts";
import { ApiProblem } from "../api/problem.ts";

/**
 * Returns a function that writes a content under an Idempotency-Key. Until an answer arrives, the same content has the
 * same key, so that a press after a lost answer has no second effect. After it, the same content is another request.
 */
export function useKeyedWrite() {
  const last = useRef({ content: "", key: "" });
  return async <Result>(
    content: unknown,
    write: (key: string) => Promise<Result>,
  ): Promise<Result> => {
    const text = JSON.stringify(content);
    if (last.current.content !== text) last.current = { content: text, key: crypto.randomUUID() };
    try {
      const result = await write(last.current.key);
      last.current.content = "";
      return result;
    } catch (error) {
      // A refused request stored nothing under its key; neither did one that was shown as curl.
      const is_open = error instanceof ApiProblem || error instanceof NotSent;
      if (!is_open) last.current.content = "";
      throw error;
    }
  };
}
