import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { recordAudit, type UserActor } from "../audit/record-audit.ts";

/** Ends the actor's session. */
export async function endSession(tx: Tx, actor: UserActor, now: Date): Promise<void> {
  await openSessions(tx, actor, now).where("id", "=", actor.token_id).execute();
  await recordAudit(tx, actor, { at: now, action: "session.ended", subject_id: actor.token_id });
}

/** Ends every session of the actor's user but `kept`. */
export async function endSessions(
  tx: Tx,
  actor: UserActor,
  now: Date,
  kept: number | null,
): Promise<void> {
  const others = openSessions(tx, actor, now);
  const ended = await (kept === null ? others : others.where("id", "!=", kept))
    .returning("id")
    .execute();
  for (const { id } of ended)
    await recordAudit(tx, actor, { at: now, action: "session.ended", subject_id: id });
}

/** Ends one of the actor's user's sessions. Throws not-found for any other. */
export async function endSessionOf(tx: Tx, actor: UserActor, id: number, now: Date): Promise<void> {
  const ended = await openSessions(tx, actor, now)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  if (!ended) throw notFound();
  await recordAudit(tx, actor, { at: now, action: "session.ended", subject_id: id });
}

function openSessions(tx: Tx, { account_id, user_id }: UserActor, now: Date) {
  return tx
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .where("kind", "=", "session")
    .where("revoked_at", "is", null);
}
