// Responses that contain the number, also within a provider's message ID. Those stored with idempotency keys of leads,
// contacts, suppressions and group members are deleted, so that a repeated request creates these again, and those of notes
// of deleted leads, which contain no number. All others stay without the number, which a campaign's name may contain, so
// that no message or call is ever repeated; call records also without what the call recorded of the person. Those of
// receivers of callbacks are emptied.
import { statement, type Tx } from "../../lib/database/database.ts";
import { eraseCallRecord } from "./erase-call-record.ts";
import { change_rows, scan_rows, type Part } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

/** The last stored response, then the last attempt of a delivery. */
type At = { readonly key: StoredPlace } | { readonly attempt: AttemptPlace };

type StoredPlace = readonly [endpoint: string, key: string];
/** `message`: the encoded part of a message ID that may contain the number; null: the text contains it. */
type FoundResponse = readonly [...place: StoredPlace, message: string | null];
type AttemptPlace = readonly [delivery_id: number, id: number];

/** The operations that answer with the record of a person. */
const of_persons = new Set([
  "createLead",
  "updateLead",
  "updateContact",
  "addSuppression",
  "addGroupMembers",
]);

/** The operations that answer with a call record. */
const of_calls = new Set(["hangUpCall", "transferCall", "retryCall"]);

export const eraseResponses: Part = (context) => {
  const at = (context.progress.at ?? { key: ["", ""] }) as At;
  return "key" in at ? eraseStored(context, at.key) : eraseReceived(context, at.attempt);
};

async function eraseStored({ app, person, write }: Parameters<Part>[0], at: StoredPlace) {
  const { account_id, erasure_id, texts, pattern } = person;
  const values = [account_id, ...at, change_rows, texts, pattern, erasure_id];
  const { found, next } = await readPage(app, findStoredResponses, values, change_rows);
  const isTheirs = openMessageMatch(pattern);
  return write(async (tx) => {
    for (const [endpoint, key, message] of found) {
      if (message !== null && !isTheirs(message)) continue;
      const place = [account_id, endpoint, key] as const;
      if (of_persons.has(endpoint)) await deleteResponse(tx, [...place]);
      else {
        if (endpoint === "addLeadNote") await deleteNoteResponse(tx, [...place]);
        if (of_calls.has(endpoint)) await eraseCallResponse(tx, place, erasure_id);
        await redactResponse(tx, [...place, pattern]);
      }
    }
    return { at: next === null ? { attempt: [0, 0] } : { key: [next[0], next[1]] } };
  });
}

/** Empties the record of a call that the erasure erased. */
async function eraseCallResponse(
  tx: Tx,
  place: readonly [account_id: number, ...StoredPlace],
  erasureId: number,
): Promise<void> {
  const [row] = await findCallResponse(tx, [...place, erasureId]);
  if (row) await setResponse(tx, [...place, eraseCallRecord(row.response)]);
}

/** Returns whether a message ID of WhatsApp contains an identity: it is bytes in base64, of which some are the number. */
function openMessageMatch(pattern: string): (message: string) => boolean {
  const identities = new RegExp(pattern);
  return (message) => identities.test(Buffer.from(message, "base64").toString("latin1"));
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

// Only these responses are certain to be JSON, and a CASE evaluates nothing else first.
const isOfDeletedNote = (k: string) => `case when ${k}.endpoint = 'addLeadNote' then not exists (
  select from lead_timeline t where t.account_id = $1 and t.id = read_id(${k}.response::json, 'id')) else false end`;

const isOfErasedCall = (k: string, erasure: string) => `case
  when ${k}.endpoint in ('hangUpCall', 'transferCall', 'retryCall') then exists (
    select from erasure_records r
    where r.account_id = $1 and r.erasure_id = ${erasure} and r.kind = 'customer_call'
      and r.record_id = read_id(${k}.response::json, 'call_id'))
  else false end`;

const findStoredResponses = statement<Page<FoundResponse>>(`
  with page as materialized (
    select k.endpoint, k.key,
      (k.response like any ($5::text[]) and k.response ~ $6) or ${isOfDeletedNote("k")}
        or ${isOfErasedCall("k", "$7")} as is_theirs,
      substring(k.response from '"provider_message_id":"wamid[.]([^"]+)"') as message
    from idempotency_keys k
    where k.account_id = $1 and (k.endpoint, k.key) > ($2, $3)
    order by k.endpoint, k.key limit $4
  )
  select
    (select coalesce(json_agg(
        json_build_array(p.endpoint, p.key, case when not p.is_theirs then p.message end) order by p.endpoint, p.key), '[]')
      from page p where p.is_theirs or p.message is not null) as found,
    (select json_build_array(p.endpoint, p.key, null) from page p
      order by p.endpoint desc, p.key desc limit 1) as last,
    (select count(*)::int from page) as rows`);

const deleteResponse = statement(
  "delete from idempotency_keys where account_id = $1 and endpoint = $2 and key = $3",
);

const deleteNoteResponse = statement(`
  delete from idempotency_keys k
  where k.account_id = $1 and k.endpoint = $2 and k.key = $3 and ${isOfDeletedNote("k")}`);

const findCallResponse = statement<{ response: string }>(`
  select k.response from idempotency_keys k
  where k.account_id = $1 and k.endpoint = $2 and k.key = $3 and ${isOfErasedCall("k", "$4")}`);

const setResponse = statement(
  "update idempotency_keys set response = $4 where account_id = $1 and endpoint = $2 and key = $3",
);

// Replaced by a digit: the response is JSON, of which a number may be a value.
const redactResponse = statement(`
  update idempotency_keys set response = regexp_replace(
    regexp_replace(response, '"provider_message_id":"[^"]*"', '"provider_message_id":null', 'g'), $4, '0', 'g')
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
