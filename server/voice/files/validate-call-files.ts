import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { fieldsOf } from "./validate-content.ts";

const fields = ["accept_voice_file_id", "busy_voice_file_id"] as const;

/**
 * Validates the voice files of the account's call settings: each has audio, so that the prompt exists before
 * anyone is dialed. The body is the patch of an account and may have any shape.
 */
export async function validateCallFiles(
  db: Kysely<DB>,
  accountId: number,
  body: unknown,
): Promise<FieldError[]> {
  const calls = fieldsOf(fieldsOf(body)?.["calls"]);
  const violations: FieldError[] = [];
  for (const field of fields) {
    const fileId = calls?.[field];
    // The schema reports values that are not IDs.
    if (typeof fileId !== "number" || (await hasAudio(db, accountId, fileId))) continue;
    const reason = "must be an active voice file of this account with audio";
    violations.push({ field: `calls.${field}`, reason });
  }
  return violations;
}

async function hasAudio(db: Kysely<DB>, accountId: number, fileId: number): Promise<boolean> {
  const file = await db
    .selectFrom("voice_files")
    .select("audio_name")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(fileId))
    .where("active", "=", true)
    .executeTakeFirst();
  return Boolean(file?.audio_name);
}
