import { synthesizeAudio, storeAudio } from "../../calls/audio/audio-files.ts";
import { SpeechError } from "../../drivers/speech/driver.ts";
import type { App } from "../../engine/app.ts";
import { checkJob, type Job } from "../../engine/work-jobs.ts";
import { AudioRefused } from "../../lib/audio/audio-refused.ts";
import { decodeAudio } from "../../lib/audio/decode-audio.ts";

/** A file that fails otherwise than by being refused, this often, is not tried again. */
const attempts_max = 5;

/**
 * The job voice.decode_file: makes the sound of a voice file, which then is ready, or rejected with the
 * reason. A synthesizer that is away is waited for.
 */
export async function decodeFile(app: App, job: Job): Promise<void> {
  const { account_id } = job;
  const id = Number(job.subject);
  const file = await app.db.query
    .selectFrom("voice_files")
    .select(["upload", "text", "language"])
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("status", "=", "processing")
    .executeTakeFirst();
  if (!file) return;
  const made = await makeSound(app, job, file);
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    await checkJob(tx, job);
    const { samples, ...columns } = made;
    const audio = samples && (await storeAudio(tx, account_id, samples, now));
    await tx
      .updateTable("voice_files")
      .set({
        ...columns,
        ...(audio ? { audio_name: audio.name, duration_ms: audio.duration_ms } : {}),
        upload: null,
        updated_at: now,
      })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .where("status", "=", "processing")
      .execute();
  });
}

/** What becomes of the row; an upload's samples are still to be stored. */
type Made = {
  readonly status: "ready" | "rejected";
  readonly reason?: string;
  readonly format?: string;
  readonly audio_name?: string;
  readonly duration_ms?: number;
  readonly samples?: Buffer;
};

async function makeSound(
  app: App,
  { account_id, attempts }: Job,
  { upload, text, language }: { upload: Buffer | null; text: string | null; language: string },
): Promise<Made> {
  try {
    if (upload === null) {
      const spoken = await synthesizeAudio(app, account_id, { text: text ?? "", language });
      return { status: "ready", audio_name: spoken.name, duration_ms: spoken.duration_ms };
    }
    const { samples, format } = await decodeAudio(upload);
    return { status: "ready", format, samples };
  } catch (error) {
    if (error instanceof AudioRefused) return { status: "rejected", reason: error.message };
    if (error instanceof SpeechError && error.failure === "rejected")
      return { status: "rejected", reason: error.message };
    if (upload === null || attempts < attempts_max) throw error;
    app.log.error({ err: error, account_id }, "a voice file cannot be decoded");
    return { status: "rejected", reason: "it could not be decoded" };
  }
}
