// Rows that an index finds by the number, a batch per step.
import { erasedMessageId } from "../../chat/inbound/erased-replies.ts";
import { statement } from "../../lib/database/database.ts";
import type { ErasedKind } from "../erasure-schema.ts";
import { change_rows, type Part, type Person } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

export const eraseGroupMembers = repeat(
  "group_members",
  // Locks the groups first, as every change of their members does.
  `with found as materialized (
     select g.id as group_id, m.id from groups g
     cross join lateral (
       select m.id from group_members m
       where m.account_id = $1 and m.group_id = g.id and m.phone_key = any ($3::text[])) m
     where g.account_id = $1 limit $2
   ), locked as materialized (
     select g.id from groups g
     where g.account_id = $1 and g.id in (select f.group_id from found f) order by g.id for no key update
   ), deleted as (
     delete from group_members m
     where m.account_id = $1 and m.id = any (array(select f.id from found f))
       and m.group_id in (select l.id from locked l)
     returning m.group_id
   ), counted as (
     update groups g set members_count = g.members_count - d.members
     from (select group_id, count(*) as members from deleted group by group_id) d
     where g.account_id = $1 and g.id = d.group_id
   )
   select (select count(*)::int from found) as found, (select count(*)::int from deleted) as erased`,
  ({ keys }) => [keys],
);

/** The provider's ID of a message contains its sender's number, and is replaced by its hash: a webhook may be repeated. */
export const eraseReplies = repeat(
  "replies",
  `with found as materialized (
     select o.id from chat_replies o
     where o.account_id = $1 and (o.phone = any ($3::text[]) or o.bsuid = any ($4::text[]))
     limit $2
   ), erased as (
     update chat_replies r set phone = '', bsuid = null, text = null, payload = null, content = null,
       answers = '[]', provider_message_id = ${erasedMessageId("r.provider_message_id")}
     where r.account_id = $1 and r.id = any (array(select f.id from found f))
     returning r.id
   )
   select (select count(*)::int from found) as found, (select count(*)::int from erased) as erased`,
  ({ spellings, bsuids }) => [spellings, bsuids],
);

/** Webhooks that could not be read, and may be about the person. */
export const eraseUnreadWebhooks: Part = async ({ app, person, progress, write }) => {
  const { account_id, spellings, bsuids } = person;
  const known = [...spellings, ...bsuids];
  const values = [account_id, progress.at ?? 0, change_rows, known];
  const { found, next } = await readPage(app, findUnreadWebhooks, values, change_rows);
  return write(async (tx) => {
    await deleteUnreadWebhooks(tx, [account_id, found]);
    return { at: next };
  });
};

const findUnreadWebhooks = statement<Page<number>>(`
  with page as materialized (
    select u.id, exists (select from unnest($4::text[]) known where position(known in u.body::text) > 0) as is_theirs
    from chat_unread_webhooks u
    where u.account_id = $1 and u.id > $2
    order by u.id limit $3
  )
  select
    (select coalesce(json_agg(p.id order by p.id), '[]') from page p where p.is_theirs) as found,
    (select max(p.id) from page p) as last,
    (select count(*)::int from page) as rows`);

const deleteUnreadWebhooks = statement(
  "delete from chat_unread_webhooks where account_id = $1 and id = any ($2::bigint[])",
);

/** Between checks for the end of a running job. */
const wait_ms = 2_000;

/** Jobs about a call with the person. One that is running may write the number, or fail and run again: it is awaited. */
export const eraseJobs: Part = ({ person, write }) =>
  write(async (tx) => {
    const values = [person.account_id, person.spellings, change_rows];
    const found = await findJobs(tx, values);
    const pending = found.filter(({ is_running }) => !is_running).map(({ id }) => id);
    await deleteJobs(tx, [person.account_id, pending]);
    if (pending.length > 0) return { at: "more" };
    return found.length > 0 ? { at: "more", wait_ms } : { at: null };
  });

const findJobs = statement<{ id: number; is_running: boolean }>(`
  select o.id, o.lease_until is not null as is_running from jobs o
  where o.account_id = $1 and o.kind in ('chat.notify_call', 'crm.record_missed_call')
    and o.payload ->> 'phone' = any ($2::text[])
  limit $3 for update`);

const deleteJobs = statement("delete from jobs where account_id = $1 and id = any ($2::bigint[])");

/** Saved views of lists that search for the person; an account has few. */
export const eraseSavedViews: Part = ({ person, write }) =>
  write(async (tx) => {
    await deleteSavedViews(tx, [person.account_id, person.pattern]);
    return { at: null };
  });

const deleteSavedViews = statement(`
  delete from saved_views where account_id = $1 and (search::text ~ $2 or name ~ $2)`);

/**
 * Suppressions stay, because the person would be contacted again without them; the words of a reply do not, nor
 * its message ID, which contains the number. A WhatsApp user ID or an alias is kept with its number only as long as
 * there is a suppression.
 */
export const eraseSuppressionTexts: Part = ({ person, write }) =>
  write(async (tx) => {
    await eraseSuppressions(tx, [person.account_id, person.keys, person.bsuids]);
    return { at: null };
  });

const eraseSuppressions = statement(`
  with usage as (
    delete from call_usage where account_id = $1 and subject in (select 'number:' || k from unnest($2::text[]) k)
  ), texts as (
    update suppressions set evidence = evidence - 'text' - 'message_id', reason = source
    where account_id = $1 and person_key = any ($2::text[]) and lifted_at is null
  ), lifted as (
    delete from suppressions
    where account_id = $1 and person_key = any ($2::text[]) and lifted_at is not null
  ), aliases as (
    delete from phone_aliases a
    where a.account_id = $1 and (a.phone_key = any ($2::text[]) or a.alias_key = any ($2::text[])) and not exists (
      select from suppressions s
      where s.account_id = $1 and s.person_key in (a.phone_key, a.alias_key) and s.lifted_at is null)
  )
  delete from person_bsuids b
  where b.account_id = $1 and b.bsuid = any ($3::text[]) and not exists (
    select from suppressions s
    where s.account_id = $1 and s.person_key = any ($2::text[]) and s.lifted_at is null)`);

function repeat(kind: ErasedKind, text: string, identities: (person: Person) => unknown[]): Part {
  const eraseSome = statement<{ found: number; erased: number }>(text);
  return ({ person, write }) =>
    write(async (tx) => {
      const values = [person.account_id, change_rows, ...identities(person)];
      const [row] = await eraseSome(tx, values);
      const { found, erased } = row!;
      // Until none is found: others may delete some of a full batch, such as retention.
      return { at: found === 0 ? null : "more", counts: { [kind]: erased } };
    });
}
