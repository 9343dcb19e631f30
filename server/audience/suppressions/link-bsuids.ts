import type { Selectable } from "kysely";
import { statement, type DB, type Executor, type Tx } from "../../lib/database/database.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import { bsuidKey, type Person } from "./person-key.ts";
import { liftSuppressions } from "./lift-suppressions.ts";
import { isLateSource, withoutWords } from "./suppression-schema.ts";
import { suppress, type Suppression } from "./suppress.ts";

/** A phone (E.164 digits) and the BSUID that a webhook reports with it. */
export type BsuidLink = {
  readonly bsuid: string;
  readonly phone: string;
  /**
   * The recipients of whose messages the webhook reports a status, one list for all of its links; none if the person
   * wrote.
   */
  readonly recipients?: readonly Recipient[];
};

type Recipient = { readonly campaign_id: number; readonly recipient_id: number };

/** A link that is not recorded yet, and the key of the phone that was the BSUID's before. */
type NewLink = BsuidLink & { readonly earlier_key: string | null };

const findUnlinked = statement<NewLink>(`
  select l.bsuid, l.phone, p.phone_key as earlier_key from unnest($2::text[], $3::text[], $4::text[]) as l (bsuid, phone, phone_key)
  left join person_bsuids p on p.account_id = $1 and p.bsuid = any ($2) and p.bsuid = l.bsuid
  where p.phone_key is distinct from l.phone_key
  order by l.bsuid`);

/** Erased recipients have no phone. */
const findErased = statement<{ campaign_id: number; recipient_id: number }>(`
  select campaign_id, id as recipient_id from chat_recipients
  where account_id = $1 and campaign_id = any ($2) and id = any ($3) and phone = ''`);

const link = statement(`
  insert into person_bsuids (account_id, bsuid, phone_key) values ($1, $2, $3)
  on conflict (account_id, bsuid) do update set phone_key = excluded.phone_key`);

const takeSuppressions = statement<Selectable<DB["suppressions"]>>(
  "delete from suppressions where account_id = $1 and person_key = $2 returning *",
);

/** Returns the links that are not recorded yet, one for each BSUID, in ascending order. */
export async function findNewLinks(
  db: Executor,
  accountId: number,
  links: readonly BsuidLink[],
): Promise<NewLink[]> {
  const distinct = [...new Map(links.map((one) => [one.bsuid, one])).values()];
  if (distinct.length === 0) return [];
  return findUnlinked(db, [
    accountId,
    distinct.map(({ bsuid }) => bsuid),
    distinct.map(({ phone }) => phone),
    distinct.map(({ phone }) => phoneKey(phone)),
  ]);
}

/**
 * Records which phones belong to BSUIDs, and moves suppressions that were stored under a BSUID to its phone,
 * so that they also block the phone. The requests of a BSUID that had another phone also block its new one. Links that are known cost one read for all. Several links lock in
 * ascending order of BSUID. A status of a message to a recipient who was erased stores no link.
 */
export async function linkBsuids(
  tx: Tx,
  accountId: number,
  links: readonly BsuidLink[],
  now: Date,
): Promise<void> {
  const unlinked = await findNewLinks(tx, accountId, links);
  const erased = await erasedBsuids(tx, accountId, links, unlinked);
  for (const person of unlinked) {
    if (erased.has(person.bsuid)) continue;
    await link(tx, [accountId, person.bsuid, phoneKey(person.phone)]);
    const rows = await takeSuppressions(tx, [accountId, bsuidKey(person.bsuid)]);
    for (const row of rows) await store(tx, { ...row, ...person }, now);
    const { earlier_key: person_key } = person;
    if (person_key !== null)
      await copyOptOuts(tx, { account_id: accountId, person_key }, person, now);
  }
}

const findOptOuts = statement<Selectable<DB["suppressions"]>>(`
  select * from suppressions
  where account_id = $1 and person_key = $2 and source in ('reply', 'provider', 'dtmf', 'ai_call')
    and lifted_at is null and (expires_at is null or expires_at > $3)
  order by id`);

/** Suppresses a person for what they asked under an earlier key. */
export async function copyOptOuts(
  tx: Tx,
  { account_id, person_key }: { readonly account_id: number; readonly person_key: string },
  person: Person,
  now: Date,
): Promise<void> {
  for (const row of await findOptOuts(tx, [account_id, person_key, now])) {
    const evidence = row.evidence && withoutWords(row.evidence);
    await suppress(tx, { ...row, person, evidence } as unknown as Suppression, now);
  }
}

async function erasedBsuids(
  tx: Tx,
  accountId: number,
  links: readonly BsuidLink[],
  unlinked: readonly BsuidLink[],
): Promise<ReadonlySet<string>> {
  const unknown = new Set(unlinked.map(({ bsuid }) => bsuid));
  const reported = links.filter(({ bsuid }) => unknown.has(bsuid));
  // The links of a webhook share one list: each of thousands of links with thousands of recipients would fill the memory.
  const lists = new Set(reported.flatMap(({ recipients }) => (recipients ? [recipients] : [])));
  const recipients = [...lists].flat();
  if (recipients.length === 0) return new Set();
  const found = await findErased(tx, [
    accountId,
    recipients.map(({ campaign_id }) => campaign_id),
    recipients.map(({ recipient_id }) => recipient_id),
  ]);
  const nameOf = (of: Recipient) => `${of.campaign_id}:${of.recipient_id}`;
  const erased = new Set(found.map(nameOf));
  const of_erased = new Set(
    [...lists].filter((list) => list.some((one) => erased.has(nameOf(one)))),
  );
  const isErased = (of: BsuidLink) => of.recipients !== undefined && of_erased.has(of.recipients);
  return new Set(reported.filter(isErased).map(({ bsuid }) => bsuid));
}

async function store(tx: Tx, row: Selectable<DB["suppressions"]>, now: Date): Promise<void> {
  const { phone, bsuid, lifted_at, lifts_until } = row;
  const entry = { ...row, person: { phone, bsuid } } as unknown as Suppression;
  const { source } = entry;
  if (lifted_at === null) await suppress(tx, entry, now);
  else if (lifts_until !== null) await storeRemoved(tx, removedValues(row, entry));
  // The person's own lifting lifts their requests before its time.
  else if (isLateSource(source))
    await liftSuppressions(tx, { ...entry, source, occurred_at: lifted_at }, now);
}

// A user removed this suppression and no other: one in force remains, and one that was lifted covers both from now on.
const storeRemoved = statement(`
  insert into suppressions as existing (account_id, person_key, channel, scope, source, phone, bsuid, reason, evidence,
    occurred_at, expires_at, created_by, created_at, lifted_at, lifts_until)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
  on conflict (account_id, person_key, channel, scope, source) do update
  set lifted_at = greatest(existing.lifted_at, excluded.lifted_at), lifts_until = excluded.lifts_until
  where existing.lifted_at is not null
    and coalesce(existing.lifts_until, existing.lifted_at) <= excluded.lifts_until`);

function removedValues(row: Selectable<DB["suppressions"]>, { person }: Suppression): unknown[] {
  return [
    row.account_id,
    phoneKey(person.phone!),
    row.channel,
    row.scope,
    row.source,
    person.phone,
    person.bsuid,
    row.reason,
    row.evidence === null ? null : JSON.stringify(row.evidence),
    row.occurred_at,
    row.expires_at,
    row.created_by,
    row.created_at,
    row.lifted_at,
    row.lifts_until,
  ];
}
