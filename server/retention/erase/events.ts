// Events about the person, in the order of seq. They are emptied and not deleted, so that readers of the order
// see no gap; later deliveries contain no personal data. Stored responses of their receivers, which may repeat
// it, are deleted.
import { statement } from "../../lib/database/database.ts";
import { scan_rows, type Part } from "./part.ts";
import { withoutNumber } from "./without-number.ts";
import { readPage, type Page } from "./read-page.ts";

/** Between checks for the relay, which assigns seq. */
const wait_ms = 2_000;

/** The last seq scanned, and the last event id that may be about the person. */
type At = { readonly seq: number; readonly to_id: number };

type EventPlace = readonly [seq: number, id: number];

export const eraseEvents: Part = async ({ app, person, progress, write }) => {
  const { account_id, erasure_id, texts, pattern } = person;
  const at = (progress.at as At | null) ?? {
    seq: 0,
    to_id: (await findLastId(app.db.pool, [account_id]))[0]?.id ?? 0,
  };
  // Before the page, because an event that is relayed in between may be behind the page.
  const [open] = await findUnordered(app.db.pool, [account_id, at.to_id]);
  const values = [account_id, at.seq, scan_rows, texts, pattern, erasure_id];
  const { found, next } = await readPage(app, findThem, values, scan_rows);
  const ids = found.map(([, id]) => id);
  return write(async (tx) => {
    const counts = { events: (await emptyEvents(tx, [account_id, ids, pattern])).length };
    if (ids.length > 0) await emptyResponses(tx, [account_id, ids]);
    if (next) return { at: { ...at, seq: next[0] }, counts };
    return open ? { at, counts, wait_ms } : { at: null, counts };
  });
};

const findLastId = statement<{ id: number }>(
  "select id from events where account_id = $1 order by id desc limit 1",
);

const findUnordered = statement<{ id: number }>(`
  select id from events where account_id = $1 and seq is null and id <= $2 order by id limit 1`);

const findThem = statement<Page<EventPlace>>(`
  with page as materialized (
    select e.id, e.seq,
      (e.data::text like any ($4::text[]) and e.data::text ~ $5)
        or (e.type like 'lead.%' and exists (
          select from erasure_records r
          where r.account_id = $1 and r.erasure_id = $6 and r.kind = 'lead' and r.record_id = read_id(e.data, 'id')))
        or (e.type like 'call.%' and exists (
          select from erasure_records r
          where r.account_id = $1 and r.erasure_id = $6 and r.kind = 'customer_call'
            and r.record_id = read_id(e.data, 'call_id'))) as is_theirs
    from events e
    where e.account_id = $1 and e.seq > $2
    order by e.seq limit $3
  )
  select
    (select coalesce(json_agg(json_build_array(p.seq, p.id) order by p.seq), '[]')
      from page p where p.is_theirs) as found,
    (select json_build_array(p.seq, p.id) from page p order by p.seq desc limit 1) as last,
    (select count(*)::int from page) as rows`);

const emptyEvents = statement<{ id: number }>(`
  with found as materialized (
    select e.id from events e
    where e.account_id = $1 and e.id = any ($2::bigint[]) order by e.id for no key update
  )
  update events e set data = ${withoutNumber("erase_event_data(e.data)", "$3")}
  where e.account_id = $1 and e.id = any (array(select f.id from found f))
  returning e.id`);

const emptyResponses = statement(`
  update callback_attempts a set response = null
  where a.account_id = $1 and a.response is not null and a.delivery_id = any (array(
    select d.id from callback_deliveries d
    where d.account_id = $1 and d.event_id = any ($2::bigint[])))`);
