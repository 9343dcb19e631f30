import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";

/**
 * Archives a voice file: new campaigns cannot use it, launched ones continue. Refuses: not-found; conflict
 * when it is already archived or a menu plays it.
 */
export async function archiveVoiceFile(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  await lockVoiceFile(tx, account_id, id);
  const played = sql<boolean>`jsonb_path_exists(
    graph::jsonb, '$.nodes.*.*.voice_file_id ? (@ == $id)', jsonb_build_object('id', ${id}::bigint))`;
  const menu = await tx
    .selectFrom("voice_menus")
    .select("name")
    .where("account_id", "=", account_id)
    .where(played)
    .orderBy("id")
    .executeTakeFirst();
  if (menu) throw new Refusal("conflict", `The menu "${menu.name}" plays it`);
  await tx
    .updateTable("voice_files")
    .set({ active: false, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  await recordAudit(tx, actor, { at: now, action: "voice_file.archived", subject_id: id });
}

/** Locks an active voice file. Refuses: not-found; conflict when it is archived. */
export async function lockVoiceFile(tx: Tx, accountId: number, id: number): Promise<void> {
  const file = await tx
    .selectFrom("voice_files")
    .select("active")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!file) throw notFound();
  if (!file.active) throw new Refusal("conflict", "The voice file is archived");
}
