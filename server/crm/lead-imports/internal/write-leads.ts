// Creates leads from a batch of validated rows; a row that the database rejects fails alone.
import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";
import { isDatabaseUnavailable } from "../../../lib/database/database-errors.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { createLeads, type LeadRow, type LeadVerdict } from "../../leads/lead-intake.ts";

export type ValidatedRow = { readonly row_number: number; readonly lead: LeadRow };

/** Why rows failed, by row number; "stale" if the workspace changed after validation. */
export type Written = ReadonlyMap<number, FieldError> | "stale";

/**
 * Creates the leads in the import's transaction. If the batch fails because of a row, its rows are written
 * one by one, ordered by phone, the lock order of every batch.
 */
export async function writeLeads(
  tx: Tx,
  accountId: number,
  rows: readonly ValidatedRow[],
  now: Date,
): Promise<Written> {
  const all = await attempt(tx, accountId, rows, now);
  if (all) return refusedOf(rows, all);
  const refused = new Map<number, FieldError>();
  const sorted = rows.toSorted((a, b) => (a.lead.phone < b.lead.phone ? -1 : 1));
  for (const row of sorted) {
    const one = await attempt(tx, accountId, [row], now);
    const written = one
      ? refusedOf([row], one)
      : new Map([[row.row_number, { field: "row", reason: "could not be stored" }]]);
    if (written === "stale") return written;
    for (const [row_number, error] of written) refused.set(row_number, error);
  }
  return refused;
}

/** Returns the verdicts, or null if the database rejected a row's data; then nothing was written. */
async function attempt(
  tx: Tx,
  accountId: number,
  rows: readonly ValidatedRow[],
  now: Date,
): Promise<LeadVerdict[] | null> {
  await sql`savepoint leads`.execute(tx);
  try {
    const leads = rows.map(({ lead }) => lead);
    const verdicts = await createLeads(tx, accountId, leads, now);
    await sql`release savepoint leads`.execute(tx);
    return verdicts;
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    await sql`rollback to savepoint leads`.execute(tx);
    return null;
  }
}

function refusedOf(rows: readonly ValidatedRow[], verdicts: readonly LeadVerdict[]): Written {
  const refused = new Map<number, FieldError>();
  for (const [i, { verdict }] of verdicts.entries()) {
    if (verdict === "created") continue;
    // Includes a workspace that became inactive, as the next read of its schema will show.
    if (verdict !== "INVALID_AGENT") return "stale";
    const error = { field: "assignedAgentId", reason: "must name an active user" };
    refused.set(rows[i]!.row_number, error);
  }
  return refused;
}
