// Stored responses of idempotency keys that contain the number: of leads, suppressions and group members.
// They are deleted, so that a repeated request creates these again. Responses about messages and calls contain
// no number and stay, so that no message or call is ever repeated.
import { statement } from "../../lib/database/database.ts";
import { change_rows, type Part } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

type At = readonly [endpoint: string, key: string];

export const eraseStoredResponses: Part = async ({ app, person, progress, write }) => {
  const { account_id, digits, pattern } = person;
  const at = (progress.at ?? ["", ""]) as At;
  const values = [account_id, ...at, change_rows, digits, pattern];
  const { found, next } = await readPage(app, findStoredResponses, values, change_rows);
  return write(async (tx) => {
    for (const place of found) await deleteResponse(tx, [account_id, ...place]);
    return { at: next };
  });
};

const findStoredResponses = statement<Page<At>>(`
  with page as materialized (
    select k.endpoint, k.key, position($5 in k.response) > 0 and k.response ~ $6 as is_theirs
    from idempotency_keys k
    where k.account_id = $1 and (k.endpoint, k.key) > ($2, $3)
    order by k.endpoint, k.key limit $4
  )
  select
    (select coalesce(json_agg(json_build_array(p.endpoint, p.key) order by p.endpoint, p.key), '[]')
      from page p where p.is_theirs) as found,
    (select json_build_array(p.endpoint, p.key) from page p
      order by p.endpoint desc, p.key desc limit 1) as last,
    (select count(*)::int from page) as rows`);

const deleteResponse = statement(
  "delete from idempotency_keys where account_id = $1 and endpoint = $2 and key = $3",
);
