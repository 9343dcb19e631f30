import { useRef, useState } from "react";
import { ApiProblem } from "../api/problem.ts";

/**
 * Saves one field by itself. What was typed is shown as soon as it is committed, and stays with the reason under it if
 * the server refuses it.
 */
export function useInlineEdit<Value>(saved: Value, save: (value: Value) => Promise<unknown>) {
  const [draft, setDraft] = useState<{ readonly value: Value }>();
  const [error, setError] = useState<string>();
  const pending = useRef<Promise<void>>(undefined);
  const discard = () => {
    setDraft(undefined);
    setError(undefined);
  };
  const send = async (sent: { readonly value: Value }, earlier: Promise<void> | undefined) => {
    // One after the other, so that what was committed last is what stays.
    await earlier;
    try {
      await save(sent.value);
      setError(undefined);
      // What was committed or typed meanwhile stays.
      setDraft((now) => (now === sent ? undefined : now));
    } catch (caught) {
      setError(reasonOf(caught));
    }
  };
  return {
    value: draft ? draft.value : saved,
    error,
    change: (value: Value) => setDraft({ value }),
    discard,
    /** Shows why what was typed is not committed. */
    refuse: setError,
    commit: async (value: Value) => {
      if (!pending.current && JSON.stringify(value) === JSON.stringify(saved)) return discard();
      const sent = { value };
      setDraft(sent);
      const sending = send(sent, pending.current);
      pending.current = sending;
      await sending;
      if (pending.current === sending) pending.current = undefined;
    },
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiProblem)) return String(error);
  const request = error.status >= 500 && error.request_id ? ` (request ${error.request_id})` : "";
  return error.errors[0]?.reason ?? `${error.message}${request}`;
}
