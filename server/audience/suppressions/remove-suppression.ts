import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { late_sources } from "./suppression-schema.ts";

type Removed = { readonly channel: string; readonly scope: string; readonly source: string };

// Requests of these sources may still arrive. The lifted row keeps the last known one and older ones from taking effect
// again. A later one counts, even if it happened before the removal: the user did not know of it.
const lift = statement<Removed>(`
  update suppressions set lifted_at = $3, lifts_until = occurred_at, expires_at = least(expires_at, $3)
  where account_id = $1 and id = $2 and lifted_at is null and source = any ($4::text[])
  returning channel, scope, source`);

const remove = statement<Removed>(`
  delete from suppressions where account_id = $1 and id = $2 and lifted_at is null
  returning channel, scope, source`);

/**
 * Removes one suppression and no other of the same person; the audit trail records the actor, the channel,
 * the scope, the source and the reason for it. Refuses: not-found.
 */
export async function removeSuppression(
  tx: Tx,
  actor: Actor,
  { id, reason }: { readonly id: number; readonly reason?: string | undefined },
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  const [lifted] = await lift(tx, [account_id, id, now, late_sources]);
  const removed = lifted ?? (await remove(tx, [account_id, id]))[0];
  if (!removed) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: "suppression.removed",
    subject_id: id,
    detail: { ...removed, ...(reason === undefined ? {} : { reason }) },
  });
}
