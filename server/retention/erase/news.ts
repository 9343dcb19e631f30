// What the outbox tells of the person, in the order of seq: emptied, not deleted, so that whoever follows
// the order misses nothing. What is delivered from now on is told without the person, and what receivers
// answered to it, which may repeat it, goes.
import { statement } from "../../lib/database.ts";
import { scan_rows, type Part } from "./part.ts";
import { readPage } from "./read-page.ts";

/** For the relay, that gives events their seq. */
const wait_ms = 2_000;

/** The last seq that was looked at, and the last id that may tell of the person. */
type At = { readonly seq: number; readonly to_id: number };

export const eraseNews: Part = async ({ app, person, progress, write }) => {
  const { account_id, digits, pattern } = person;
  const at = (progress.at as At | null) ?? {
    seq: 0,
    to_id: (await findLastId(app.db.pool, [account_id]))[0]?.id ?? 0,
  };
  const values = [account_id, at.seq, scan_rows, digits, pattern];
  const { found, last, rows } = await readPage(app, findThem, values);
  return write(async (tx) => {
    const events = (await emptyEvents(tx, [account_id, found])).length;
    if (found.length > 0) await emptyAnswers(tx, [account_id, found]);
    const counts = { events };
    const next = { seq: last ?? at.seq, to_id: at.to_id };
    if (rows === scan_rows) return { at: next, counts };
    const [open] = await findUnordered(tx, [account_id, at.to_id]);
    return open ? { at: next, counts, wait_ms } : { at: null, counts };
  });
};

const findLastId = statement<{ id: number }>(
  "select id from events where account_id = $1 order by id desc limit 1",
);

const findUnordered = statement<{ id: number }>(`
  select id from events where account_id = $1 and seq is null and id <= $2 order by id limit 1`);

const findThem = statement<{ found: number[]; last: number | null; rows: number }>(`
  with page as materialized (
    select e.id, e.seq,
      position($4 in e.data::text) > 0 and e.data::text ~ $5 as is_theirs
    from events e
    where e.account_id = $1 and e.seq > $2
    order by e.seq limit $3
  )
  select
    (select coalesce(json_agg(p.id), '[]') from page p where p.is_theirs) as found,
    (select max(p.seq) from page p) as last,
    (select count(*)::int from page) as rows`);

const emptyEvents = statement<{ id: number }>(`
  with found as materialized (
    select e.id from events e
    where e.account_id = $1 and e.id = any ($2::bigint[]) order by e.id for no key update
  )
  update events e set data = erase_news(e.data)
  where e.account_id = $1 and e.id = any (array(select f.id from found f))
  returning e.id`);

const emptyAnswers = statement(`
  update callback_attempts a set response = null
  where a.account_id = $1 and a.response is not null and a.delivery_id = any (array(
    select d.id from callback_deliveries d
    where d.account_id = $1 and d.event_id = any ($2::bigint[])))`);
