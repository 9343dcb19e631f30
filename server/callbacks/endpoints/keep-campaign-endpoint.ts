import type { Tx } from "../../lib/database/database.ts";
import { begunAnew } from "./internal/begun-anew.ts";
import { newSecret } from "./internal/new-secret.ts";

/**
 * Sees that the account has an endpoint for voice campaigns with this callback_url, of at most 2,048
 * bytes. One that was disabled because it failed or was gone is given another chance; one that a person
 * disabled stays so. To be called late in a launch: until the transaction ends, others that make the same
 * endpoint wait, and it is not deleted.
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
    await tx
      .insertInto("callback_endpoints")
      .values({ ...endpoint, secret: newSecret() })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    kept = await findEndpoint(tx, account_id, url);
  }
  if (kept.disabled_reason === null || kept.disabled_reason === "manual") return;
  await tx
    .updateTable("callback_endpoints")
    .set({ enabled: true, disabled_reason: null, disabled_at: null, updated_at: now })
    .set(begunAnew(account_id, kept.id, now))
    .where("account_id", "=", account_id)
    .where("id", "=", kept.id)
    .execute();
}

/** Locked against deleteEndpoint; whoever makes or sends deliveries does not wait. */
function findEndpoint(tx: Tx, account_id: number, url: string) {
  return tx
    .selectFrom("callback_endpoints")
    .select(["id", "disabled_reason"])
    .where("account_id", "=", account_id)
    .where("kind", "=", "campaign")
    .where("url", "=", url)
    .where("deleted_at", "is", null)
    .forKeyShare()
    .executeTakeFirst();
}
