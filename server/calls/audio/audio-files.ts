// The stored audio of an account: decoded uploads and synthesized texts.
import { createHash } from "node:crypto";
import { sql, type Kysely } from "kysely";
import { SpeechError, type Synthesizer, type Utterance } from "../../drivers/speech/driver.ts";
import type { App } from "../../engine/app.ts";

import { bytes_per_ms, type Audio } from "../../lib/audio/audio.ts";
import { statement, type Database, type DB } from "../../lib/database/database.ts";
import { openShares } from "../../lib/shares.ts";

const day_ms = 86_400_000;
/** Synthesized audio that is not used for this long is purged. */
const unused_ms = 30 * day_ms;
/** Small, because each row has up to several MB. */
const purge_batch = 100;

/**
 * As many texts at once as the drivers synthesize, so that waiting accounts alternate and none fills a driver's queue.
 * A waiting text of a call occupies a place of the node, so few of one account may wait: beyond them, it is 503 for this
 * account, and the dialer places fewer calls of the campaign.
 */
const syntheses = openShares(2, 2, 100);

/** Returns the account's audio of this name, or null. Its samples are read on demand. */
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

/** Bytes that are read at once of samples that are sent to a client: 32 s. */
const piece_bytes = 524_288;

/** Stored samples that are read in pieces. */
export type StoredSamples = {
  readonly bytes: number;
  /**
   * Reads the bytes `from` to `to`, both included, and no others: each piece when it is asked for, by a statement of its
   * own. Throws if the audio was deleted meanwhile.
   */
  pieces(from: number, to: number): AsyncGenerator<Buffer>;
};

/** Returns the samples of the account's audio of this name, or null. */
export async function findSamples(
  db: Kysely<DB>,
  account_id: number,
  name: string,
): Promise<StoredSamples | null> {
  const audio = db
    .selectFrom("voice_audio")
    .where("account_id", "=", account_id)
    .where("name", "=", name);
  const row = await audio.select(sql<number>`octet_length(samples)`.as("bytes")).executeTakeFirst();
  if (!row) return null;
  const { bytes } = row;
  return {
    bytes,
    async *pieces(from, to) {
      for (let at = from; at <= to; at += piece_bytes) {
        const length = Math.min(piece_bytes, to + 1 - at);
        const read = await audio
          .select(sql<Buffer>`substring(samples from ${at + 1} for ${length})`.as("piece"))
          .executeTakeFirst();
        if (!read)
          throw new Error(`audio ${name} of account ${account_id} was deleted while it was read`);
        yield read.piece;
      }
    },
  };
}

/** Returns whether the audio of a text is stored. */
export async function isSynthesized(
  { db, speech }: Pick<App, "db" | "speech">,
  account_id: number,
  utterance: Utterance,
): Promise<boolean> {
  return (await findAudio(db.query, account_id, synthesizedName(speech.voice, utterance))) !== null;
}

/** Stores samples that are not synthesized; identical samples are stored once. */
export async function storeAudio(
  db: Kysely<DB>,
  account_id: number,
  samples: Buffer,
  now: Date,
): Promise<{ name: string; duration_ms: number }> {
  // With a prefix, so that no samples have the name of a synthesized text.
  const name = createHash("sha256").update("upload:").update(samples).digest("hex");
  return insertAudio(db, { account_id, name, samples, synthesized: false, now });
}

/**
 * Returns the audio of a text, which is synthesized if it is not stored. Concurrent requests for one
 * text in this process share one synthesis, and accounts alternate. Throws SpeechError: `rejected` for a
 * text without sound; 503 if too many of the account's texts are waiting.
 */
export async function synthesizeAudio(
  app: Pick<App, "db" | "clock" | "speech">,
  account_id: number,
  utterance: Utterance,
): Promise<Audio> {
  const name = synthesizedName(app.speech.voice, utterance);
  const inFlight = inFlightOf(app.db);
  const key = `${account_id}:${name}`;
  // Checked before the database, whose answer may be older than a synthesis that has just ended.
  let audio = inFlight.get(key);
  if (!audio) {
    const found = useAudio(app, account_id, name);
    audio = found
      .then((stored) => stored ?? synthesizeNew(app, account_id, name, utterance))
      .finally(() => inFlight.delete(key));
    inFlight.set(key, audio);
  }
  return audio;
}

/**
 * Returns the text-to-speech of the account for audio that is not stored. It waits like that of synthesizeAudio, and is
 * refused like it.
 */
export function synthesizerOf({ speech }: Pick<App, "speech">, account_id: number): Synthesizer {
  return {
    owner: String(account_id),
    synthesize: (utterance) => syntheses.use(account_id, () => speech.synthesize(utterance)),
  };
}

/**
 * Purges synthesized audio that was not used for 30 days, a batch per account; returns how many. Keeps
 * the audio of voice files and all audio that an unfinished campaign may use, unless it is a test call.
 */
export async function purgeUnusedAudio(app: Pick<App, "db" | "clock">): Promise<number> {
  const before = new Date(app.clock.now().getTime() - unused_ms);
  let purged = 0;
  for (const { account_id } of await findUnused(app.db.pool, [before])) {
    purged += (await deleteUnused(app.db.pool, [account_id, before, purge_batch])).length;
  }
  return purged;
}

/** Returns a name that depends on everything that affects the sound; see `storeAudio`. */
function synthesizedName(voice: string, { language, text }: Utterance): string {
  return createHash("sha256")
    .update(JSON.stringify([voice, language, text]))
    .digest("hex");
}

/** Requests in flight by account and name, for each database (a process has one). */
const requests = new WeakMap<Database, Map<string, Promise<Audio>>>();

function inFlightOf(db: Database): Map<string, Promise<Audio>> {
  let inFlight = requests.get(db);
  if (!inFlight) requests.set(db, (inFlight = new Map<string, Promise<Audio>>()));
  return inFlight;
}

async function synthesizeNew(
  { db, clock, speech }: Pick<App, "db" | "clock" | "speech">,
  account_id: number,
  name: string,
  utterance: Utterance,
): Promise<Audio> {
  if (utterance.text.trim() === "") throw new SpeechError("rejected", "the text is empty");
  const samples = await synthesizerOf({ speech }, account_id).synthesize(utterance);
  if (samples.length < bytes_per_ms)
    throw new SpeechError("rejected", "the synthesized audio is empty");
  const synthesized = { account_id, name, samples, synthesized: true, now: clock.now() };
  return audioOf(db.query, account_id, await insertAudio(db.query, synthesized));
}

/** Finds audio as findAudio does, and updates `used_at`, at most once a day. */
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
    // Purged between the two statements.
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
    owner: String(account_id),
    name,
    duration_ms,
    read: async () => {
      const row = await db
        .selectFrom("voice_audio")
        .select("samples")
        .where("account_id", "=", account_id)
        .where("name", "=", name)
        .executeTakeFirst();
      if (!row) throw new Error(`audio ${name} of account ${account_id} does not exist`);
      return row.samples;
    },
  };
}

// One index lookup per account instead of a scan of all audio.
const findUnused = statement<{ account_id: number }>(`
  select a.account_id from accounts a
  where exists (
    select from voice_audio k where k.account_id = a.account_id and k.synthesized and k.used_at < $1)
  order by a.account_id`);

// A campaign's audio was used after its creation, or on the day before (useAudio). A test call whose audio is so old was
// paused weeks ago, and no list shows it to a user who would resume or cancel it.
const deleteUnused = statement<{ name: string }>(`
  with unused as materialized (
    select k.name from voice_audio k
    where k.account_id = $1 and k.synthesized and k.used_at < $2
      and not exists (select from voice_files f where f.account_id = $1 and f.audio_name = k.name)
      and not exists (
        select from voice_campaigns v where v.account_id = $1 and v.finished_at is null and not v.is_test
          and v.created_at - interval '1 day' <= k.used_at)
    order by k.used_at limit $3
    for update skip locked
  )
  delete from voice_audio k using unused u
  where k.account_id = $1 and k.name = u.name and k.used_at < $2
  returning k.name`);
