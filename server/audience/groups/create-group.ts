import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import type { GroupResponse, NewGroup } from "./group-schema.ts";
import { findGroup } from "./groups.ts";

/** Creates a group without members. Refuses: validation-failed (name taken). */
export async function createGroup(
  tx: Tx,
  actor: Actor,
  group: NewGroup,
  now: Date,
): Promise<GroupResponse> {
  const { account_id } = actor;
  const { id } = await tx
    .insertInto("groups")
    .values({
      account_id,
      name: group.name,
      created_at: now,
      updated_at: now,
      members_counted_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow()
    .catch(refuseTakenName);
  await recordAudit(tx, actor, { at: now, action: "group.created", subject_id: id });
  return (await findGroup(tx, account_id, id))!;
}

/** Refuses validation-failed on `name` if its unique constraint was violated; rethrows any other error. */
export function refuseTakenName(error: unknown): never {
  if (violatesUnique(error, "groups_account_id_name_key"))
    throw invalidField("name", "is already the name of a group");
  throw error;
}
