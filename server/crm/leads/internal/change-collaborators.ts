// Adds and removes collaborators of many leads at once.
import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";

/** A collaborator who was added to a lead or removed from it; `kind` as on the timeline. */
export type CollaboratorChange = {
  readonly lead_id: number;
  readonly user_id: number;
  readonly kind: "collaborator_added" | "collaborator_removed";
};

/** Returns what changed; users who were or were not collaborators already are left out. */
export async function changeCollaborators(
  tx: Tx,
  accountId: number,
  leads: readonly number[],
  users: {
    readonly addCollaborators?: readonly number[];
    readonly removeCollaborators?: readonly number[];
  },
  now: Date,
): Promise<CollaboratorChange[]> {
  const { addCollaborators = [], removeCollaborators = [] } = users;
  const added =
    addCollaborators.length === 0
      ? { rows: [] }
      : await sql<CollaboratorChange>`
          insert into lead_collaborators (account_id, lead_id, user_id, added_at)
          select ${accountId}, l.id, u.id, ${now}
          from unnest(${leads}::bigint[]) l (id) cross join unnest(${addCollaborators}::bigint[]) u (id)
          on conflict do nothing
          returning lead_id, user_id, 'collaborator_added' as kind`.execute(tx);
  const removed =
    removeCollaborators.length === 0
      ? { rows: [] }
      : await sql<CollaboratorChange>`
          delete from lead_collaborators c
          where c.account_id = ${accountId} and c.lead_id = any (${leads}::bigint[])
            and c.user_id = any (${removeCollaborators}::bigint[])
          returning c.lead_id, c.user_id, 'collaborator_removed' as kind`.execute(tx);
  return [...added.rows, ...removed.rows];
}

/** Returns how many collaborators each of the leads has; a lead without any is left out. */
export async function countCollaborators(
  tx: Tx,
  accountId: number,
  leads: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ lead_id: number; users: number }>`
    select c.lead_id, count(*)::int as users from lead_collaborators c
    where c.account_id = ${accountId} and c.lead_id = any (${leads}::bigint[])
    group by c.lead_id`.execute(tx);
  return new Map(rows.map(({ lead_id, users }) => [lead_id, users]));
}
