// Responses that contain the number. Those stored with idempotency keys of leads, contacts, suppressions and group members
// are deleted, so that a repeated request creates these again. All others stay without the number, which a campaign's name
// may contain, so that no message or call is ever repeated. Those of receivers of callbacks are emptied.
import { statement } from "../../lib/database/database.ts";
import { change_rows, scan_rows, type Part } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

/** The last stored response, then the last attempt of a delivery. */
type At = { readonly key: StoredPlace } | { readonly attempt: AttemptPlace };

type StoredPlace = readonly [endpoint: string, key: string];
type AttemptPlace = readonly [delivery_id: number, id: number];

/** The operations that answer with the record of a person. */
const of_persons = new Set([
  "createLead",
  "updateLead",
  "updateContact",
  "addSuppression",
  "addGroupMembers",
]);

export const eraseResponses: Part = (context) => {
  const at = (context.progress.at ?? { key: ["", ""] }) as At;
  return "key" in at ? eraseStored(context, at.key) : eraseReceived(context, at.attempt);
};

async function eraseStored({ app, person, write }: Parameters<Part>[0], at: StoredPlace) {
  const { account_id, texts, pattern } = person;
  const values = [account_id, ...at, change_rows, texts, pattern];
  const { found, next } = await readPage(app, findStoredResponses, values, change_rows);
  return write(async (tx) => {
    for (const place of found) {
      if (of_persons.has(place[0])) await deleteResponse(tx, [account_id, ...place]);
      else await redactResponse(tx, [account_id, ...place, pattern]);
    }
    return { at: next === null ? { attempt: [0, 0] } : { key: next } };
  });
}

async function eraseReceived({ app, person, write }: Parameters<Part>[0], at: AttemptPlace) {
  const { account_id, texts, pattern } = person;
  const values = [account_id, ...at, scan_rows, texts, pattern];
  const { found, next } = await readPage(app, findReceivedResponses, values, scan_rows);
  return write(async (tx) => {
    for (const place of found) await emptyResponse(tx, [account_id, ...place]);
    return { at: next === null ? null : { attempt: next } };
  });
}

const findStoredResponses = statement<Page<StoredPlace>>(`
  with page as materialized (
    select k.endpoint, k.key, k.response like any ($5::text[]) and k.response ~ $6 as is_theirs
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

// Replaced by a digit: the response is JSON, of which a number may be a value.
const redactResponse = statement(`
  update idempotency_keys set response = regexp_replace(response, $4, '0', 'g')
  where account_id = $1 and endpoint = $2 and key = $3`);

const findReceivedResponses = statement<Page<AttemptPlace>>(`
  with page as materialized (
    select a.delivery_id, a.id, a.response like any ($5::text[]) and a.response ~ $6 as is_theirs
    from callback_attempts a
    where a.account_id = $1 and (a.delivery_id, a.id) > ($2, $3)
    order by a.delivery_id, a.id limit $4
  )
  select
    (select coalesce(json_agg(json_build_array(p.delivery_id, p.id) order by p.delivery_id, p.id), '[]')
      from page p where p.is_theirs) as found,
    (select json_build_array(p.delivery_id, p.id) from page p order by p.delivery_id desc, p.id desc limit 1) as last,
    (select count(*)::int from page) as rows`);

const emptyResponse = statement(`
  update callback_attempts set response = null where account_id = $1 and delivery_id = $2 and id = $3`);
