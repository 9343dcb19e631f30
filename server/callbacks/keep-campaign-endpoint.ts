import type { Tx } from "../lib/database.ts";
import { newSecret } from "./new-secret.ts";

/**
 * Sees that the account has an endpoint for voice campaigns with this callback_url, of at most 2,048
 * bytes; one that is disabled stays so. To be called late in a launch: until the transaction ends, others
 * that make the same endpoint wait, and it is not deleted.
 */
export async function keepCampaignEndpoint(
  tx: Tx,
  account_id: number,
  url: string,
  now: Date,
): Promise<void> {
  const endpoint = { account_id, kind: "campaign", url, created_at: now, updated_at: now };
  let kept = await findEndpoint(tx, account_id, url);
  // One that is being deleted is waited for, and made anew.
  while (!kept) {
    kept = await tx
      .insertInto("callback_endpoints")
      .values({ ...endpoint, secret: newSecret() })
      .onConflict((conflict) => conflict.doNothing())
      .returning("id")
      .executeTakeFirst();
    kept ??= await findEndpoint(tx, account_id, url);
  }
}

/** Locked against deleteEndpoint; whoever makes or sends deliveries does not wait. */
function findEndpoint(tx: Tx, account_id: number, url: string) {
  return tx
    .selectFrom("callback_endpoints")
    .select("id")
    .where("account_id", "=", account_id)
    .where("kind", "=", "campaign")
    .where("url", "=", url)
    .where("deleted_at", "is", null)
    .forKeyShare()
    .executeTakeFirst();
}
