import type { Tx } from "../lib/database/database.ts";
import type { Call } from "./route.ts";

/**
 * What `make` answers, for the request that made it. Under an Idempotency-Key an answer with null in place
 * of the secret `field` is stored: no secret is kept, and a repetition still makes nothing twice.
 */
export async function tellOnce<Field extends string, Answer extends Record<Field, string | null>>(
  { write, request }: Call<unknown, unknown, unknown>,
  field: Field,
  make: (tx: Tx) => Promise<Answer>,
): Promise<Answer> {
  const told: { answer: Answer | null } = { answer: null };
  const stored = await write(async (tx) => {
    told.answer = await make(tx);
    return { ...told.answer, [field]: null };
  });
  if (told.answer === null) return stored;
  request.stored = null;
  return told.answer;
}
