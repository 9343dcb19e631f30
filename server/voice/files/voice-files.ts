import type { Kysely } from "kysely";
import { findAudio } from "../../calls/audio/audio-files.ts";
import { encodeWav } from "../../lib/audio/wav.ts";
import { decodeCursor, endOfSearch, page, readBounded } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import {
  voice_file_columns,
  voiceFileResponse,
  type VoiceFileResponse,
  type VoiceFileStatus,
} from "./voice-file-schema.ts";

/** Lists the account's active voice files by id. Refuses: validation-failed on a cursor of another list. */
export async function listVoiceFiles(
  db: Kysely<DB>,
  accountId: number,
  query: { limit: number; cursor?: string | undefined; status?: VoiceFileStatus },
): Promise<{ data: VoiceFileResponse[]; next_cursor: string | null }> {
  const { limit, cursor, status } = query;
  const all = db
    .selectFrom("voice_files")
    .where("account_id", "=", accountId)
    .where("active", "=", true)
    .where("id", ">", cursor === undefined ? 0 : decodeCursor(cursor))
    .orderBy("id");
  const end = status === undefined ? null : await endOfSearch(all.select("id"));
  let files = all.select(voice_file_columns);
  if (end !== null) files = files.where("id", "<=", end);
  if (status !== undefined) files = files.where("status", "=", status);
  const found = await readBounded(db, files.limit(limit + 1), {
    large: ["text", "script"],
    order: "id",
  });
  const { rows, next } = page(found, limit, end);
  return { data: rows.map(voiceFileResponse), next_cursor: next };
}

/** Returns one voice file of the account, active or archived. Refuses: not-found. */
export async function readVoiceFile(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<VoiceFileResponse> {
  const row = await db
    .selectFrom("voice_files")
    .select(voice_file_columns)
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound();
  return voiceFileResponse(row);
}

/** Returns the audio of a voice file as WAV. Refuses: not-found, also if it has no audio. */
export async function readVoiceFileAudio(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<Buffer> {
  const row = await db
    .selectFrom("voice_files")
    .select("audio_name")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound();
  const audio = row.audio_name === null ? null : await findAudio(db, accountId, row.audio_name);
  if (!audio) throw new Refusal("not-found", "This voice file has no audio");
  return encodeWav(await audio.read());
}
