import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { lockVoiceFile } from "./archive-voice-file.ts";
import { refuseDeletedContent } from "./create-voice-file.ts";
import {
  voice_file_columns,
  voiceFileResponse,
  type VoiceFileResponse,
  type VoiceFilePatch,
} from "./voice-file-schema.ts";

/**
 * Updates a voice file for campaigns launched from now on. Refuses: not-found; conflict when it is
 * archived; validation-failed if its menu or AI agent was deleted meanwhile.
 */
export async function updateVoiceFile(
  tx: Tx,
  actor: Actor,
  id: number,
  patch: VoiceFilePatch,
  now: Date,
): Promise<VoiceFileResponse> {
  const { account_id } = actor;
  await lockVoiceFile(tx, account_id, id);
  const updated = await tx
    .updateTable("voice_files")
    .set({ ...patch, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning(voice_file_columns)
    .executeTakeFirstOrThrow()
    .catch(refuseDeletedContent);
  const detail = { changed: Object.keys(patch) };
  await recordAudit(tx, actor, { at: now, action: "voice_file.updated", subject_id: id, detail });
  return voiceFileResponse(updated);
}
