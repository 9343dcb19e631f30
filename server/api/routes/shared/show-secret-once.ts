import type { Tx } from "../../../lib/database/database.ts";
import type { RequestContext } from "../../route.ts";

/**
 * Answers the request that created a secret with what `create` returns. Under an Idempotency-Key the stored
 * answer has null in place of the secret `field`, so that no secret is kept and a retry creates nothing.
 */
export async function showSecretOnce<
  Field extends string,
  Answer extends Record<Field, string | null>,
>(
  { write, request }: RequestContext<unknown, unknown, unknown>,
  field: Field,
  create: (tx: Tx) => Promise<Answer>,
): Promise<Answer> {
  const created: { answer: Answer | null } = { answer: null };
  const stored = await write(async (tx) => {
    created.answer = await create(tx);
    return { ...created.answer, [field]: null };
  });
  if (created.answer === null) return stored;
  request.stored = null;
  return created.answer;
}
