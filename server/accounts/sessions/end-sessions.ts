import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { recordAudit, recordAudits, type Actor, type UserActor } from "../audit/record-audit.ts";

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
  const subject_ids = await endAll(tx, actor, now, kept);
  await recordAudits(tx, actor, { at: now, action: "session.ended", subject_ids });
}

/** Ends every session of another user, and voids the sign-in links that the user made in any of them. */
export async function endSessionsOf(
  tx: Tx,
  actor: Actor,
  user_id: number,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  const subject_ids = await endAll(tx, { account_id, user_id }, now, null);
  const detail = { user_id };
  await recordAudits(tx, actor, { at: now, action: "session.ended", subject_ids, detail });
}

type Owner = Pick<UserActor, "account_id" | "user_id">;

/** Returns the IDs of the sessions that it ended. */
async function endAll(
  tx: Tx,
  owner: Owner,
  now: Date,
  kept: number | null,
): Promise<readonly number[]> {
  const open = openSessions(tx, owner, now);
  const ended = await (kept === null ? open : open.where("id", "!=", kept))
    .returning("id")
    .execute();
  // Also of sessions that had ended: whoever stole one may have signed out in it.
  const links = linksOfSessions(tx, owner);
  await (kept === null ? links : links.where("created_by_token", "!=", kept)).execute();
  return ended.map(({ id }) => id);
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

/** Also idle ones: a process may not have saved their last use yet. */
function openSessions(tx: Tx, { account_id, user_id }: Owner, now: Date) {
  return tx
    .updateTable("tokens")
    .set({ revoked_at: now })
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .where("kind", "=", "session")
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now);
}

/** Deletes the links that a user made in sessions. */
function linksOfSessions(tx: Tx, { account_id, user_id }: Owner) {
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
