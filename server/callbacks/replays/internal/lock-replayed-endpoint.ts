import type { Tx } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import { lockEndpoint } from "../../endpoints/lock-endpoint.ts";

/**
 * Locks an endpoint that is to be told again, before any of its deliveries, as whoever delivers to it
 * does. Refuses: not-found; conflict when it is disabled.
 */
export async function lockReplayedEndpoint(
  tx: Tx,
  accountId: number,
  endpointId: number,
): Promise<void> {
  const { enabled } = await lockEndpoint(tx, accountId, endpointId);
  if (!enabled) throw new Refusal("conflict", "The endpoint is disabled; enable it, then replay");
}
