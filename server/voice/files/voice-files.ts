import { Readable } from "node:stream";
import type { Kysely } from "kysely";
import { findSamples, type StoredSamples } from "../../calls/audio/audio-files.ts";
import { wavHeader } from "../../lib/audio/wav.ts";
import { decodeCursor, endOfSearch, page, readBounded } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { openStreamSlots } from "../../calls/audio/stream-slots.ts";
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

/** Each holds about 1 MB: the piece that is sent, and the next. */
const downloads = openStreamSlots("downloads of voice files", {
  slots_max: 64,
  of_account_max: 16,
});

/** The audio of a voice file as a WAV file of a known size. */
export type VoiceFileAudio = {
  readonly bytes: number;
  /**
   * Opens the bytes `from` to `to`, both included, which are read as fast as their client reads, and without those
   * before. Refuses: rate-limited if the account has too many open downloads; unavailable if the process has.
   */
  open(from: number, to: number): Promise<Readable>;
};

/** Finds the audio of a voice file, and reads none of it. Refuses: not-found, also if the file has no audio. */
export async function findVoiceFileAudio(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<VoiceFileAudio> {
  const row = await db
    .selectFrom("voice_files")
    .select("audio_name")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound();
  const samples = row.audio_name === null ? null : await findSamples(db, accountId, row.audio_name);
  if (!samples) throw new Refusal("not-found", "This voice file has no audio");
  const header = wavHeader(samples.bytes);
  return {
    bytes: header.length + samples.bytes,
    open: (from, to) =>
      downloads.open(accountId, async () =>
        Readable.from(chunksOf(header, samples, { from, to }), { objectMode: false }),
      ),
  };
}

async function* chunksOf(
  header: Buffer,
  samples: StoredSamples,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<Buffer> {
  const begin = header.subarray(from, to + 1);
  if (begin.length > 0) yield begin;
  yield* samples.pieces(Math.max(0, from - header.length), to - header.length);
}
