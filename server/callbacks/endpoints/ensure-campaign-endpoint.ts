import type { Tx } from "../../lib/database/database.ts";
import { resetDeliveryState } from "./internal/reset-delivery-state.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { newEndpointSecret } from "./internal/new-secret.ts";

/**
 * Ensures that the account has a campaign endpoint with this callback_url, of at most 2,048 bytes. An endpoint
 * that was disabled because it failed or was gone is enabled again; one that a user disabled stays disabled.
 * Call it late in a launch: until the transaction ends, concurrent creations of the same endpoint wait, and it
 * cannot be deleted.
 */
export async function ensureCampaignEndpoint(
  tx: Tx,
  account_id: number,
  url: string,
  now: Date,
  secrets: Secrets,
): Promise<void> {
  const endpoint = { account_id, kind: "campaign", url, created_at: now, updated_at: now };
  let found = await findEndpoint(tx, account_id, url);
  // Waits for a concurrent deletion, and then creates the endpoint again.
  while (!found) {
    const { id, secret } = await newEndpointSecret(tx, secrets, account_id);
    await tx
      .insertInto("callback_endpoints")
      .values({ ...endpoint, id, secret })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    found = await findEndpoint(tx, account_id, url);
  }
  if (found.disabled_reason === null || found.disabled_reason === "manual") return;
  await tx
    .updateTable("callback_endpoints")
    .set({ enabled: true, disabled_reason: null, disabled_at: null, updated_at: now })
    .set(resetDeliveryState(account_id, found.id, now))
    .where("account_id", "=", account_id)
    .where("id", "=", found.id)
    .execute();
}

/** Locks the endpoint against deleteEndpoint, but not against the relay and its deliverer. */
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
