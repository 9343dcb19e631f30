import { synthesizeAudio, storeAudio } from "../../calls/audio/audio-files.ts";
import { isRejected } from "../../calls/audio/prepare-speech.ts";
import { SpeechError } from "../../drivers/speech/driver.ts";
import type { App } from "../../engine/app.ts";
import { checkJob, type Job } from "../../engine/work-jobs.ts";
import { AudioError } from "../../lib/audio/audio-error.ts";
import { decodeAudio } from "../../lib/audio/decode-audio.ts";

/** After this many failures that are not rejections, a file is rejected; a text only if it fails again when others do not. */
const attempts_max = 5;

/**
 * Runs the job voice.decode_file: decodes or synthesizes the audio of a voice file, which becomes ready, or
 * rejected with the reason. While TTS is unavailable, the job is retried.
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
  const prepared = await prepareAudio(app, job, file);
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    await checkJob(tx, job);
    const { samples, ...columns } = prepared;
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

/** The new values of the row; `samples` of an upload are stored by the caller. */
type PreparedAudio = {
  readonly status: "ready" | "rejected";
  readonly reason?: string;
  readonly format?: string;
  readonly audio_name?: string;
  readonly duration_ms?: number;
  readonly samples?: Buffer;
};

async function prepareAudio(
  app: App,
  { account_id, attempts }: Job,
  { upload, text, language }: { upload: Buffer | null; text: string | null; language: string },
): Promise<PreparedAudio> {
  const utterance = { text: text ?? "", language };
  try {
    if (upload === null) {
      const audio = await synthesizeAudio(app, account_id, utterance);
      return { status: "ready", audio_name: audio.name, duration_ms: audio.duration_ms };
    }
    const { samples, format } = await decodeAudio(upload);
    return { status: "ready", format, samples };
  } catch (error) {
    if (error instanceof AudioError) return { status: "rejected", reason: error.message };
    if (error instanceof SpeechError && error.failure === "rejected")
      return { status: "rejected", reason: error.message };
    if (attempts < attempts_max) throw error;
    if (upload === null) {
      // The attempts may have failed only while TTS was unavailable.
      const rejected =
        error instanceof SpeechError && (await isRejected(app, account_id, utterance));
      if (!rejected) throw error;
      return { status: "rejected", reason: "the text could not be synthesized" };
    }
    app.log.error({ err: error, account_id }, "could not decode a voice file");
    return { status: "rejected", reason: "the file could not be decoded" };
  }
}
