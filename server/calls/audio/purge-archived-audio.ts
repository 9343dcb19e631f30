// The end of the audio of archived voice files.
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";

const day_ms = 86_400_000;
/** Audio of an archived file is deleted when it was archived, and last found in use, so long ago. */
const grace_ms = 30 * day_ms;
const purge_batch = 20;

/**
 * Deletes the audio of voice files that were archived 30 days ago, a batch per account; returns how much. Keeps what
 * another file plays. What a call setting, a menu or an unfinished campaign plays is kept, and checked again 30 days
 * later. A retry of a finished campaign is refused once its audio is deleted (retry-voice-campaign.ts).
 */
export async function purgeArchivedAudio({
  db,
  clock,
}: Pick<App, "db" | "clock">): Promise<number> {
  const now = clock.now();
  const before = new Date(now.getTime() - grace_ms);
  let purged = 0;
  for (const { account_id } of await findArchived(db.pool, [before]))
    purged += (await deleteArchived(db.pool, [account_id, before, now, purge_batch])).length;
  return purged;
}

// voice_files_archived has the few files that still have audio.
const findArchived = statement<{ account_id: number }>(`
  select a.account_id from accounts a
  where exists (
    select from voice_files f
    where f.account_id = a.account_id and not f.active and f.audio_name is not null and f.updated_at < $1)
  order by a.account_id`);

// Synthesized audio may have further users, which purgeUnusedAudio knows. Plans are read once, because each may have
// megabytes; those of other call types name no audio.
const deleteArchived = statement<{ name: string }>(`
  with planned as materialized (
    select n.name #>> '{}' as name from voice_campaigns v
    cross join lateral jsonb_path_query(v.plan::jsonb, '$.**.audio.name') n (name)
    where v.account_id = $1 and v.finished_at is null and v.call_type in ('obd_voice_call', 'obd_ivr')
  ), archived as materialized (
    select k.name, k.synthesized,
      k.name in (select p.name from planned p)
      or exists (
        select from voice_files f join accounts a on a.account_id = f.account_id
        where f.account_id = $1 and a.account_id = $1 and f.audio_name = k.name
          and f.id in (a.accept_voice_file_id, a.busy_voice_file_id))
      or exists (
        select from voice_files f join voice_menus m on m.account_id = f.account_id
        where f.account_id = $1 and m.account_id = $1 and f.audio_name = k.name
          and jsonb_path_exists(m.graph::jsonb, '$.nodes.*.*.voice_file_id ? (@ == $id)',
            jsonb_build_object('id', f.id))) as is_used
    from voice_audio k
    where k.account_id = $1 and k.used_at < $2
      and k.name in (
        select f.audio_name from voice_files f
        where f.account_id = $1 and not f.active and f.audio_name is not null and f.updated_at < $2)
      and not exists (
        select from voice_files f
        where f.account_id = $1 and f.audio_name = k.name and (f.active or f.updated_at >= $2))
    order by k.used_at limit $4
    for update of k skip locked
  ), kept as (
    update voice_audio k set used_at = $3 from archived u
    where k.account_id = $1 and k.name = u.name and u.is_used
  ), detached as (
    update voice_files f set audio_name = null, duration_ms = null from archived u
    where f.account_id = $1 and f.audio_name = u.name and not f.active and not u.is_used
  )
  delete from voice_audio k using archived u
  where k.account_id = $1 and k.name = u.name and not u.is_used and not u.synthesized
  returning k.name`);
