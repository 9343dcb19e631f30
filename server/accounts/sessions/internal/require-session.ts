import type { Tx } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { UserActor } from "../../audit/record-audit.ts";

/** Throws unauthorized if the actor's session has ended since the request was authenticated. */
export async function requireSession(tx: Tx, { account_id, token_id }: UserActor): Promise<void> {
  const session = await tx
    .selectFrom("tokens")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", token_id)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  if (!session) throw new Refusal("unauthorized", "This session has ended; sign in again");
}
