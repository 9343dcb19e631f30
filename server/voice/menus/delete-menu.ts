import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { detachFromVoiceFiles } from "../files/detach-from-voice-files.ts";

/**
 * Deletes a menu; launched campaigns keep their copy. Refuses: not-found; conflict while an active voice file or a
 * phone number uses it.
 */
export async function deleteMenu(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const menu = await tx
    .selectFrom("voice_menus")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!menu) throw notFound();
  const routed = await tx
    .selectFrom("phone_numbers")
    .select("number")
    .where("account_id", "=", account_id)
    .where("menu_id", "=", id)
    .executeTakeFirst();
  if (routed) throw new Refusal("conflict", `The incoming calls of ${routed.number} use it`);
  await detachFromVoiceFiles(tx, account_id, { column: "menu_id", id });
  await tx
    .deleteFrom("voice_menus")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  await recordAudit(tx, actor, { at: now, action: "voice_menu.deleted", subject_id: id });
}
