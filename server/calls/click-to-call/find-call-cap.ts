import { statement, type Executor } from "../../lib/database/database.ts";

/** Whose cap on legs or credits. */
export type CallCap = "account" | "token" | "number";

// Without tables: Citus cannot run the function for the rows of an account.
const findCap = statement<{ cap: CallCap | null }>("select call_cap($1, $2, $3, $4) as cap");

/** Returns the operator's cap that a call to these phones (E.164 digits) now would exceed; null: none. */
export async function findCallCap(
  db: Executor,
  accountId: number,
  tokenId: number | null,
  phones: readonly string[],
  now: Date,
): Promise<CallCap | null> {
  const [found] = await findCap(db, [accountId, tokenId, phones, now]);
  return found!.cap;
}
