import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";

/**
 * Takes a menu or an AI agent out of archived voice files, so that it can go. Lock it first: no file gets
 * it any more. Refuses: conflict, with the name of a file that is in use and has it.
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
