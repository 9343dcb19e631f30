import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { recordAudit, type UserActor } from "../audit/record-audit.ts";

/** Ends the actor's session. */
export async function endSession(tx: Tx, actor: UserActor, now: Date): Promise<void> {
  await openSessions(tx, actor, now).where("id", "=", actor.token_id).execute();
  await recordAudit(tx, actor, { at: now, action: "session.ended", subject_id: actor.token_id });
}

/** Ends every session of the actor's user but `kept`, and voids the sign-in links that the user made in any of them. */
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
  // Also of sessions that had ended: whoever stole one may have signed out in it.
  const links = linksOfSessions(tx, actor);
  await (kept === null ? links : links.where("created_by_token", "!=", kept)).execute();
}

/**
 * Ends one of the actor's user's sessions and voids the sign-in links that were made in it. Throws not-found for any
 * other.
 */
export async function endSessionOf(tx: Tx, actor: UserActor, id: number, now: Date): Promise<void> {
  const ended = await openSessions(tx, actor, now)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  if (!ended) throw notFound();
  await linksOfSessions(tx, actor).where("created_by_token", "=", id).execute();
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

/** Deletes the links that a user made in sessions. */
function linksOfSessions(tx: Tx, { account_id, user_id }: UserActor) {
  return tx
    .deleteFrom("sign_in_links")
    .where("account_id", "=", account_id)
    .where("created_by", "=", user_id)
    .where("created_by_token", "in", (eb) =>
      eb
        .selectFrom("tokens")
        .select("id")
        .where("account_id", "=", account_id)
        .where("user_id", "=", user_id)
        .where("kind", "=", "session"),
    );
}
