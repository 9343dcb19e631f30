// Recipients of voice campaigns: waiting ones are suppressed, then all are emptied. No index contains their
// phone numbers, so the account's recipients are scanned in pages.
import { statement, type Tx } from "../../lib/database/database.ts";
import { countMovedRecipients } from "../../voice/campaigns/count-moved-recipients.ts";
import { scan_rows, type Part, type Person, type RecipientRef } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

/** Between checks for the end of a call. */
const wait_ms = 10_000;

/** Scans all recipients, and records those who are being called. */
export const scanVoiceRecipients: Part = async ({ app, person, progress, write }) => {
  const [campaign_id, id] = (progress.at ?? [0, 0]) as RecipientRef;
  const values = [person.account_id, campaign_id, id, scan_rows, person.spellings];
  const { found, next } = await readPage(app, findThem, values, scan_rows);
  return write(async (tx, now) => {
    const { erased, open } = await eraseRecipients(tx, person, found, now);
    return {
      at: next,
      counts: { recipients: erased },
      voice: [...progress.voice, ...open],
    };
  });
};

/** Repeats until the person is not being called. */
export const awaitVoiceRecipients: Part = ({ person, progress, write }) =>
  write(async (tx, now) => {
    const { erased, open } = await eraseRecipients(tx, person, progress.voice, now);
    const rest =
      open.length > 0 ? { at: "waiting", wait_ms, waiting_for: "call" as const } : { at: null };
    return { ...rest, counts: { recipients: erased }, voice: open };
  });

/** Returns how many were emptied, and those who are still being called. */
async function eraseRecipients(
  tx: Tx,
  { account_id, spellings }: Person,
  recipients: readonly RecipientRef[],
  now: Date,
): Promise<{ erased: number; open: RecipientRef[] }> {
  const open: RecipientRef[] = [];
  const suppressed: { id: number; from: string }[] = [];
  let erased = 0;
  for (const recipient of recipients) {
    const [row] = await emptyRecipient(tx, [account_id, ...recipient, spellings, now]);
    if (!row) continue;
    if (row.state === "calling") {
      open.push(recipient);
      continue;
    }
    erased++;
    if (row.state === "synthesizing" || row.state === "waiting")
      suppressed.push({ id: recipient[0], from: row.state });
  }
  for (const { id, from } of suppressed)
    await countMovedRecipients(tx, { account_id, id }, { from, to: "suppressed", count: 1 });
  return { erased, open };
}

const findThem = statement<Page<RecipientRef>>(`
  with page as materialized (
    select r.campaign_id, r.id, r.phone from voice_recipients r
    where r.account_id = $1 and (r.campaign_id, r.id) > ($2, $3)
    order by r.campaign_id, r.id limit $4
  )
  select
    (select coalesce(json_agg(json_build_array(p.campaign_id, p.id) order by p.campaign_id, p.id), '[]')
      from page p where p.phone = any ($5::text[])) as found,
    (select json_build_array(p.campaign_id, p.id) from page p order by p.campaign_id desc, p.id desc limit 1) as last,
    (select count(*)::int from page) as rows`);

const emptyRecipient = statement<{ state: string }>(`
  with found as materialized (
    select r.id, r.state from voice_recipients r
    where r.account_id = $1 and r.campaign_id = $2 and r.id = $3 and r.phone = any ($4::text[])
    for no key update
  ), emptied as (
    update voice_recipients r set number = '', phone = '', variables = null, audio_name = null,
      state = case when f.state in ('synthesizing', 'waiting') then 'suppressed' else r.state end,
      finished_at = coalesce(r.finished_at, $5::timestamptz)
    from found f
    where r.account_id = $1 and r.campaign_id = $2 and r.id = f.id and f.state <> 'calling'
  )
  select f.state from found f`);
