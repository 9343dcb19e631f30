import { lockAndValidateStorage } from "../../accounts/accounts/storage.ts";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import { sample_rate_hz } from "../../lib/audio/audio.ts";
import { addJob } from "../../engine/add-job.ts";
import { violatesForeignKey } from "../../lib/database/database-errors.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, invalidField } from "../../lib/errors.ts";
import { default_language } from "./content-schema.ts";
import {
  voice_file_columns,
  voiceFileResponse,
  type NewVoiceFile,
  type VoiceFileResponse,
} from "./voice-file-schema.ts";

/** One second, because a text's length is not known before it is synthesized. */
const text_bytes = sample_rate_hz * 2;

/**
 * Creates a voice file that validateVoiceFile accepted, from an upload's bytes (null: none). A file with
 * an upload or a text is `processing` until the job voice.decode_file is done: send its notification
 * after the commit. Refuses: validation-failed if its menu or AI agent was deleted meanwhile, or if it does not
 * fit into the account's storage quota.
 */
export async function createVoiceFile(
  tx: Tx,
  actor: UserActor,
  { body, upload }: { readonly body: NewVoiceFile; readonly upload: Buffer | null },
  now: Date,
): Promise<VoiceFileResponse> {
  const { account_id, user_id } = actor;
  const text = body.text ?? null;
  const isReady = upload === null && text === null;
  if (!isReady) {
    const field = upload === null ? "text" : "file";
    const bytes = upload?.length ?? text_bytes;
    const violations = await lockAndValidateStorage(tx, account_id, field, bytes);
    if (violations.length > 0) throw invalid(violations);
  }
  const created = await tx
    .insertInto("voice_files")
    .values({
      account_id,
      name: body.name,
      status: isReady ? "ready" : "processing",
      upload,
      text,
      language: body.language ?? default_language,
      script: body.script ?? null,
      menu_id: body.menu_id ?? null,
      ai_agent_id: body.ai_agent_id ?? null,
      opt_out_key: body.opt_out_key ?? null,
      answering_machine: body.answering_machine ?? "off",
      created_by: user_id,
      created_at: now,
      updated_at: now,
    })
    .returning(voice_file_columns)
    .executeTakeFirstOrThrow()
    .catch(refuseDeletedContent);
  const { id } = created;
  if (!isReady) {
    const job = {
      account_id,
      kind: "voice.decode_file",
      subject: String(id),
      run_at: now,
    } as const;
    await addJob(tx, job, now);
  }
  await recordAudit(tx, actor, { at: now, action: "voice_file.created", subject_id: id });
  return voiceFileResponse(created);
}

/** Refuses validation-failed on the field of a violated foreign key; rethrows any other error. */
export function refuseDeletedContent(error: unknown): never {
  for (const field of ["menu_id", "ai_agent_id"])
    if (violatesForeignKey(error, `voice_files_account_id_${field}_fkey`))
      throw invalidField(field, "no longer exists");
  throw error;
}
