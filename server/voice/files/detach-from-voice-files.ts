import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";

/**
 * Detaches a menu or an AI agent from archived voice files, so that it can be deleted. Lock it first, so that
 * no file references it meanwhile. Refuses: conflict, with the name of an active file that uses it.
 */
export async function detachFromVoiceFiles(
  tx: Tx,
  accountId: number,
  { column, id }: { readonly column: "menu_id" | "ai_agent_id"; readonly id: number },
): Promise<void> {
  const user = await tx
    .selectFrom("voice_files")
    .select("name")
    .where("account_id", "=", accountId)
    .where(column, "=", id)
    .where("active", "=", true)
    .orderBy("id")
    .executeTakeFirst();
  if (user) throw new Refusal("conflict", `The voice file "${user.name}" uses it`);
  await tx
    .updateTable("voice_files")
    .set({ [column]: null })
    .where("account_id", "=", accountId)
    .where(column, "=", id)
    .execute();
}
