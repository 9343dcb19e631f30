// Sound that is kept with the account: uploads once decoded, and texts once spoken.
import { createHash } from "node:crypto";
import type { Kysely } from "kysely";
import { SpeechError, type Utterance } from "../../drivers/speech/driver.ts";
import type { App } from "../../engine/app.ts";

import { bytes_per_ms, type Audio } from "../../lib/audio/audio.ts";
import { statement, type Database, type DB } from "../../lib/database/database.ts";

const day_ms = 86_400_000;
/** A spoken clip that nobody asked for this long is forgotten. */
const unused_ms = 30 * day_ms;
/** Each is up to some MB. */
const forgotten_at_once = 100;

/** The account's clip of this name, or null. Its samples are read when they are asked for. */
export async function findAudio(
  db: Kysely<DB>,
  account_id: number,
  name: string,
): Promise<Audio | null> {
  const row = await db
    .selectFrom("voice_audio")
    .select("duration_ms")
    .where("account_id", "=", account_id)
    .where("name", "=", name)
    .executeTakeFirst();
  return row ? audioOf(db, account_id, { name, ...row }) : null;
}

/** Keeps samples that are no spoken text's; the same ones twice are one clip. */
export async function storeAudio(
  db: Kysely<DB>,
  account_id: number,
  samples: Buffer,
  now: Date,
): Promise<{ name: string; duration_ms: number }> {
  const name = createHash("sha256").update(samples).digest("hex");
  return insertAudio(db, { account_id, name, samples, synthesized: false, now });
}

/**
 * The clip of a text, spoken unless it has been. Whoever asks for one text at the same time in this
 * process waits for one speaker. Throws SpeechError: `rejected` for a text without any sound.
 */
export async function synthesizeAudio(
  app: Pick<App, "db" | "clock" | "speech">,
  account_id: number,
  utterance: Utterance,
): Promise<Audio> {
  const name = spokenName(app.speech.voice, utterance);
  const underWay = speakersOf(app.db);
  const key = `${account_id}:${name}`;
  // Joined before anything is looked up: a look-up may be older than what has just been spoken.
  let audio = underWay.get(key);
  if (!audio) {
    const found = useAudio(app, account_id, name);
    audio = found
      .then((kept) => kept ?? speakNew(app, account_id, name, utterance))
      .finally(() => underWay.delete(key));
    underWay.set(key, audio);
  }
  return audio;
}

/**
 * Forgets spoken clips that nobody asked for in 30 days, a few of each account; returns how many. A
 * voice file's stays, and so does every one that a campaign which is not over may have been given.
 */
export async function purgeUnusedAudio(app: Pick<App, "db" | "clock">): Promise<number> {
  const before = new Date(app.clock.now().getTime() - unused_ms);
  let forgotten = 0;
  for (const { account_id } of await findUnused(app.db.pool, [before])) {
    forgotten += (await deleteUnused(app.db.pool, [account_id, before, forgotten_at_once])).length;
  }
  return forgotten;
}

/** Changes with everything that would make it sound otherwise. */
function spokenName(voice: string, { language, text }: Utterance): string {
  return createHash("sha256")
    .update(JSON.stringify([voice, language, text]))
    .digest("hex");
}

/** Clips that are asked for just now, by account and name, of each database (a process has one). */
const speakers = new WeakMap<Database, Map<string, Promise<Audio>>>();

function speakersOf(db: Database): Map<string, Promise<Audio>> {
  let underWay = speakers.get(db);
  if (!underWay) speakers.set(db, (underWay = new Map<string, Promise<Audio>>()));
  return underWay;
}

async function speakNew(
  { db, clock, speech }: Pick<App, "db" | "clock" | "speech">,
  account_id: number,
  name: string,
  utterance: Utterance,
): Promise<Audio> {
  if (utterance.text.trim() === "") throw new SpeechError("rejected", "there is nothing to say");
  const samples = await speech.speak(utterance);
  if (samples.length < bytes_per_ms) throw new SpeechError("rejected", "it has no sound");
  const synthesized = { account_id, name, samples, synthesized: true, now: clock.now() };
  return audioOf(db.query, account_id, await insertAudio(db.query, synthesized));
}

/** As findClip, noting that it was asked for: once a day is enough. */
async function useAudio(
  { db, clock }: Pick<App, "db" | "clock">,
  account_id: number,
  name: string,
): Promise<Audio | null> {
  const now = clock.now();
  const of = db.query.selectFrom("voice_audio").where("account_id", "=", account_id);
  const row = await of
    .select(["duration_ms", "used_at"])
    .where("name", "=", name)
    .executeTakeFirst();
  if (!row) return null;
  if (row.used_at.getTime() < now.getTime() - day_ms) {
    const touched = await db.query
      .updateTable("voice_audio")
      .set({ used_at: now })
      .where("account_id", "=", account_id)
      .where("name", "=", name)
      .executeTakeFirst();
    // Forgotten between the two.
    if (touched.numUpdatedRows === 0n) return null;
  }
  return audioOf(db.query, account_id, { name, duration_ms: row.duration_ms });
}

async function insertAudio(
  db: Kysely<DB>,
  audio: { account_id: number; name: string; samples: Buffer; synthesized: boolean; now: Date },
): Promise<{ name: string; duration_ms: number }> {
  const { now, ...row } = audio;
  const duration_ms = Math.floor(audio.samples.length / bytes_per_ms);
  return db
    .insertInto("voice_audio")
    .values({ ...row, duration_ms, created_at: now, used_at: now })
    .onConflict((on) => on.columns(["account_id", "name"]).doUpdateSet({ used_at: now }))
    .returning(["name", "duration_ms"])
    .executeTakeFirstOrThrow();
}

function audioOf(
  db: Kysely<DB>,
  account_id: number,
  { name, duration_ms }: { name: string; duration_ms: number },
): Audio {
  return {
    name,
    duration_ms,
    read: async () => {
      const row = await db
        .selectFrom("voice_audio")
        .select("samples")
        .where("account_id", "=", account_id)
        .where("name", "=", name)
        .executeTakeFirst();
      if (!row) throw new Error(`the audio ${name} of account ${account_id} is gone`);
      return row.samples;
    },
  };
}

// A look-up in the index of each account, rather than a read of all clips.
const findUnused = statement<{ account_id: number }>(`
  select a.account_id from accounts a
  where exists (
    select from voice_audio k where k.account_id = a.account_id and k.synthesized and k.used_at < $1)
  order by a.account_id`);

// What a campaign was given it asked for after it was made, or on the day before (useClip).
const deleteUnused = statement<{ name: string }>(`
  with unused as materialized (
    select k.name from voice_audio k
    where k.account_id = $1 and k.synthesized and k.used_at < $2
      and not exists (select from voice_files f where f.account_id = $1 and f.audio_name = k.name)
      and not exists (
        select from voice_campaigns v where v.account_id = $1 and v.finished_at is null
          and v.created_at - interval '1 day' <= k.used_at)
    order by k.used_at limit $3
    for update skip locked
  )
  delete from voice_audio k using unused u
  where k.account_id = $1 and k.name = u.name and k.used_at < $2
  returning k.name`);
