import { recordAudit } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { clearAway } from "../away-agents.ts";
import { countAgentGroupMembers, touchAgentGroupsOf } from "../count-agent-group-members.ts";
import type { ExtensionResponse, ExtensionPatch } from "./extension-schema.ts";
import { readExtension } from "./extensions.ts";
import {
  validateExtension,
  refuseTakenExtension,
  type ExtensionOwner,
} from "./internal/validate-extension.ts";

/**
 * Updates an extension. Groups keep it under its new number, and its endpoint changes only if given.
 * Refuses: not-found; validation-failed (extension or digit taken, endpoint not the account's,
 * user_id unknown).
 */
export async function updateExtension(
  tx: Tx,
  { account, actor }: ExtensionOwner,
  id: number,
  patch: ExtensionPatch,
  now: Date,
): Promise<ExtensionResponse> {
  const { account_id } = actor;
  const earlier = await readExtension(tx, account_id, id);
  await validateExtension(tx, account, { id, ...patch });
  await tx
    .updateTable("extensions")
    .set({ ...patch, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute()
    .catch(refuseTakenExtension);
  const { extension = earlier.extension } = patch;
  if (extension !== earlier.extension) {
    const group_ids = await touchAgentGroupsOf(tx, account_id, earlier.extension, now);
    await moveMembers(tx, account_id, earlier, extension);
    await countAgentGroupMembers(tx, account_id, group_ids);
  }
  const isAnothers = patch.user_id !== undefined && patch.user_id !== earlier.user_id;
  if (isAnothers) await clearAway(tx, account_id, [extension]);
  await recordAudit(tx, actor, {
    at: now,
    action: "extension.updated",
    subject_id: id,
    detail: { changed: Object.keys(patch) },
  });
  return readExtension(tx, account_id, id);
}

/** Renames the number in every group; a group that already has the new number keeps that member. */
async function moveMembers(
  tx: Tx,
  account_id: number,
  { extension: earlier }: ExtensionResponse,
  number: string,
): Promise<void> {
  await tx
    .updateTable("agent_group_members as m")
    .set({ number })
    .where("m.account_id", "=", account_id)
    .where("m.number", "=", earlier)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("agent_group_members as other")
            .select("other.id")
            .where("other.account_id", "=", account_id)
            .whereRef("other.group_id", "=", "m.group_id")
            .where("other.number", "=", number),
        ),
      ),
    )
    .execute();
  await tx
    .deleteFrom("agent_group_members")
    .where("account_id", "=", account_id)
    .where("number", "=", earlier)
    .execute();
  await clearAway(tx, account_id, [earlier]);
}
