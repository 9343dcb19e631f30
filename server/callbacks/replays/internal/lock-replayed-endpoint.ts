import type { Tx } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import { lockEndpoint } from "../../endpoints/lock-endpoint.ts";

/**
 * Locks the endpoint of a replay before its deliveries, in the order of its deliverer. Refuses: not-found;
 * conflict when it is disabled.
 */
export async function lockReplayedEndpoint(
  tx: Tx,
  accountId: number,
  endpointId: number,
): Promise<void> {
  const { enabled } = await lockEndpoint(tx, accountId, endpointId);
  if (!enabled) throw new Refusal("conflict", "The endpoint is disabled: enable it first");
}
