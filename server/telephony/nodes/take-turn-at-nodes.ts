import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";

/** Of pg_advisory_xact_lock; nothing else of ours uses this number. */
const lock_number = 7_302_015;

/**
 * Changes of nodes and trunks come one after the other: a trunk's shares, its nodes and the calls that
 * wait there lock each other's rows in every order, and two at once could wait for each other for ever.
 */
export async function takeTurnAtNodes(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lock_number})`.execute(tx);
}
