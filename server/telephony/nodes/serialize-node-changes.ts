import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";

/** The number of the advisory lock, used for nothing else. */
const lock_number = 7_302_015;

/**
 * Serializes changes of nodes and trunks until the transaction ends. They lock rows of trunk_nodes,
 * voice_nodes and calls in different orders, so that concurrent changes could deadlock. On Citus, the transaction then
 * has one connection for each node: calls reference trunks, and Citus refuses to delete a trunk after calls were read on
 * several. Other databases ignore the setting.
 */
export async function serializeNodeChanges(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lock_number}),
    set_config('citus.multi_shard_modify_mode', 'sequential', true)`.execute(tx);
}
