import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { fieldsOf } from "./validate-content.ts";

/**
 * Validates the voice file that asks agents to accept a call: it has audio, so that the prompt exists before
 * anyone is dialed. The body is the patch of an account and may have any shape.
 */
export async function validateAcceptFile(
  db: Kysely<DB>,
  accountId: number,
  body: unknown,
): Promise<FieldError[]> {
  const fileId = fieldsOf(fieldsOf(body)?.["calls"])?.["accept_voice_file_id"];
  // The schema reports values that are not IDs.
  if (typeof fileId !== "number") return [];
  const file = await db
    .selectFrom("voice_files")
    .select("audio_name")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(fileId))
    .where("active", "=", true)
    .executeTakeFirst();
  if (file?.audio_name) return [];
  const reason = "must be an active voice file of this account with audio";
  return [{ field: "calls.accept_voice_file_id", reason }];
}
