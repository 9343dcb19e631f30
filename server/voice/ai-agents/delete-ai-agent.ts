import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { detachFromVoiceFiles } from "../files/detach-from-voice-files.ts";

/** Deletes an AI agent; launched campaigns keep their copy. Refuses: not-found; conflict while an active voice file uses it. */
export async function deleteAiAgent(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const agent = await tx
    .selectFrom("voice_ai_agents")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!agent) throw notFound();
  await detachFromVoiceFiles(tx, account_id, { column: "ai_agent_id", id });
  await tx
    .deleteFrom("voice_ai_agents")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  await recordAudit(tx, actor, { at: now, action: "ai_agent.deleted", subject_id: id });
}
