import { useState } from "react";
import { ApiProblem } from "../api/problem.ts";

/**
 * Saves one field by itself. What was typed is shown as soon as it is committed, and stays with the reason under it if
 * the server refuses it.
 */
export function useInlineEdit<Value>(saved: Value, save: (value: Value) => Promise<unknown>) {
  const [draft, setDraft] = useState<{ readonly value: Value }>();
  const [error, setError] = useState<string>();
  const discard = () => {
    setDraft(undefined);
    setError(undefined);
  };
  return {
    value: draft ? draft.value : saved,
    error,
    change: (value: Value) => setDraft({ value }),
    discard,
    commit: async (value: Value) => {
      if (JSON.stringify(value) === JSON.stringify(saved)) return discard();
      setDraft({ value });
      try {
        await save(value);
        discard();
      } catch (caught) {
        setError(reasonOf(caught));
      }
    },
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiProblem)) return String(error);
  const request = error.status >= 500 && error.request_id ? ` (request ${error.request_id})` : "";
  return error.errors[0]?.reason ?? `${error.message}${request}`;
}
