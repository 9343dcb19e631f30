// Calls to the person, from the person's phone as an agent, and calls that rang it: queued calls are cancelled, live
// calls are awaited, and ended calls are emptied. The last part deletes the recordings.
import { agent_took_leg } from "../../calls/agent-took-leg.ts";
import { cancelIfQueued } from "../../calls/controls/hang-up-call.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import type { Part, Person } from "./part.ts";
import { withoutNumber } from "./without-number.ts";

/** Between checks for the end of a call. */
const wait_ms = 30_000;

/** Calls that a step handles at most. */
const calls_max = 100;

/** One number in one column, whose calls an index returns in order. */
type Source = { readonly find: typeof findAsCustomer; readonly number: string };

/** The source, and the call after which the next one is found; its time is PostgreSQL's text, to the microsecond. */
type At = {
  readonly source: number;
  readonly time: string;
  readonly id: number;
  readonly some_left: boolean;
};

const the_start: At = { source: 0, time: "-infinity", id: 0, some_left: false };

/** Each step handles calls of one source. Live calls are checked again when the others are done. */
export const eraseCalls: Part = async ({ app, person, progress, write }) => {
  const at = (progress.at ?? the_start) as At;
  const source = sourcesOf(person)[at.source];
  if (!source)
    return write(async () =>
      at.some_left ? { at: the_start, wait_ms, waiting_for: "call" } : { at: null },
    );
  const values = [person.account_id, source.number, at.time, at.id, calls_max];
  const found = await source.find(app.db.pool, values);
  return write(async (tx, now) => {
    const { erased, some_left } = await eraseSome(tx, person, [...new Set(ids(found))], now);
    // Until none is found: a retry may have been queued since.
    const next =
      found.length === 0 ? { ...the_start, source: at.source + 1 } : { ...at, ...found.at(-1) };
    return {
      at: { ...next, some_left: at.some_left || some_left },
      counts: { calls: erased },
    };
  });
};

function sourcesOf({ spellings, numbers }: Person): Source[] {
  return [
    ...spellings.map((number) => ({ find: findAsCustomer, number })),
    ...numbers.map((number) => ({ find: findAsAgent, number })),
    ...numbers.map((number) => ({ find: findByLeg, number })),
  ];
}

const ids = (found: readonly { readonly id: number }[]) => found.map(({ id }) => id);

/** Returns how many calls were emptied, and whether one has not ended. */
async function eraseSome(tx: Tx, person: Person, found: readonly number[], now: Date) {
  const { account_id, erasure_id, phones, spellings, numbers, pattern } = person;
  // The account before its calls, and all calls before the balance, which a cancellation locks.
  await unfoldCalls(tx, [account_id, found]);
  const locked = await lockCalls(tx, [account_id, found]);
  // A cancellation may suppress the customer; several are suppressed in the order of their keys.
  const queued = locked.filter(({ stage }) => stage === "queued").toSorted(byCustomer);
  for (const { id, to_phone } of queued) {
    const is_erasure = spellings.includes(to_phone);
    const cancellation = { reason: "hung_up_by_api", is_erasure } as const;
    await cancelIfQueued(tx, { account_id, id }, now, cancellation);
  }
  const open = locked.filter(({ stage }) => stage !== "queued" && stage !== "ended");
  const over = ids(locked.filter((call) => !open.includes(call)));
  if (over.length > 0) {
    for (const phone of phones) await eraseAsCustomer(tx, [account_id, over, phone, erasure_id]);
    await eraseAsAgent(tx, [account_id, over, numbers, pattern, erasure_id]);
  }
  return { erased: over.length, some_left: open.length > 0 };
}

type Locked = { readonly id: number; readonly stage: string; readonly to_phone: string };

function byCustomer(a: Locked, b: Locked): number {
  const [key, other] = [phoneKey(a.to_phone), phoneKey(b.to_phone)];
  return key < other ? -1 : key > other ? 1 : 0;
}

type Found = { readonly id: number; readonly time: string };

const findAsCustomer = statement<Found>(`
  select c.id, c.queued_at::text as time from calls c
  where c.account_id = $1 and c.to_phone = $2 and (c.queued_at, c.id) > ($3::text::timestamptz, $4)
  order by c.queued_at, c.id limit $5`);

/** Only a click-to-call has the agent as `from_number`: others have their caller ID, or the number that was called. */
const has_agent = "c.recipient_id is null and c.direction = 'outbound'";

const findAsAgent = statement<Found>(`
  select c.id, c.queued_at::text as time from calls c
  where c.account_id = $1 and c.from_number = $2 and ${has_agent} and (c.queued_at, c.id) > ($3::text::timestamptz, $4)
  order by c.queued_at, c.id limit $5`);

/** Calls that rang the phone as a member of an agent group, or were transferred to it. */
const findByLeg = statement<Found>(`
  select l.call_id as id, l.initiated_at::text as time from call_legs l
  where l.account_id = $1 and l.number = $2 and l.role <> 'customer'
    and l.initiated_at >= $3::text::timestamptz
    and (l.initiated_at, l.call_id) > ($3::text::timestamptz, $4)
  order by l.initiated_at, l.call_id limit $5`);

const unfoldCalls = statement("select unfold_calls($1, $2::bigint[])");

const lockCalls = statement<Locked>(`
  select c.id, c.stage, c.to_phone from calls c
  where c.account_id = $1 and c.id = any ($2::bigint[]) order by c.id for no key update`);

/** Empties ended calls with the person as the customer. */
const eraseAsCustomer = statement("select erase_calls($1, $2::bigint[], $3, $4)");

/**
 * Empties the agent's side of ended calls where it is the person's phone; the customer's side stays, but for what
 * was recorded and transcribed, also on a lead's timeline, if the person was on the call.
 */
const eraseAsAgent = statement(`
  with legs as materialized (
    select l.call_id, l.id, ${agent_took_leg} as is_on_call from call_legs l
    where l.account_id = $1 and l.call_id = any ($2::bigint[]) and l.role <> 'customer'
      and l.number = any ($3::text[])
  ), theirs as materialized (
    select c.id, c.campaign_id, c.lead_id, ${has_agent} and c.from_number = any ($3::text[]) as is_theirs
    from calls c
    where c.account_id = $1 and c.id = any ($2::bigint[])
  ), present as materialized (
    select t.id, t.lead_id from theirs t
    where t.id in (select g.call_id from legs g where g.is_on_call)
  ), emptied as (
    update calls c set from_number = '' from theirs t where c.account_id = $1 and c.id = t.id and t.is_theirs
  ), requests as (
    update click_to_calls p set from_number = '' from theirs t
    where p.account_id = $1 and p.campaign_id = t.campaign_id and (t.is_theirs or p.from_number = any ($3::text[]))
  ), numbers as (
    update call_legs l set number = '' from legs g where l.account_id = $1 and l.call_id = g.call_id and l.id = g.id
  ), said as (
    delete from call_transcripts s using present t where s.account_id = $1 and s.call_id = t.id
  ), copied as (
    update lead_timeline e set data = (e.data::jsonb - array['transcript', 'recordingUrl'])::json from present t
    where e.account_id = $1 and e.lead_id = t.lead_id and e.kind = 'call' and e.data ->> 'callId' = t.id::text
  ), recorded as (
    insert into erasure_records (account_id, erasure_id, record_id, kind)
    select $1, $5, t.id, 'agent_call' from present t on conflict do nothing
  )
  update call_events e set data = ${withoutNumber("e.data", "$4")}
  where e.account_id = $1 and e.call_id = any ($2::bigint[])`);
