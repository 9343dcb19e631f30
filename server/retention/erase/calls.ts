// Calls to the person or from the person's phone as an agent, one at a time: a queued call is cancelled, a live call is awaited, and an ended call is
// emptied. The last part deletes the recordings.
import { cancelIfQueued } from "../../calls/controls/hang-up-call.ts";
import { statement } from "../../lib/database/database.ts";
import type { Part } from "./part.ts";
import { withoutNumber } from "./without-number.ts";

/** Between checks for the end of a call. */
const wait_ms = 30_000;

/** The call after which the next one is found; its time is in PostgreSQL's text form, to the microsecond. */
type At = { readonly queued_at: string; readonly id: number; readonly some_left: boolean };

const the_start: At = { queued_at: "-infinity", id: 0, some_left: false };

/** Each step handles one call. Live calls are checked again when the others are done. */
export const eraseCalls: Part = async ({ app, person, progress, write }) => {
  const { account_id, phone, numbers, pattern } = person;
  const at = (progress.at ?? the_start) as At;
  const [call] = await findCall(app.db.pool, [account_id, phone, at.queued_at, at.id, numbers]);
  if (!call)
    return write(async () =>
      at.some_left ? { at: the_start, wait_ms, waiting_for: "call" } : { at: null },
    );
  const { id, queued_at } = call;
  return write(async (tx, now) => {
    await cancelIfQueued(tx, { account_id, id }, now);
    const is_erased = (await eraseIfOver(tx, [account_id, id, phone])).length > 0;
    if (is_erased) await eraseAgent(tx, [account_id, id, numbers, pattern]);
    return {
      at: { queued_at, id, some_left: at.some_left || !is_erased },
      counts: { calls: is_erased ? 1 : 0 },
      calls: is_erased ? [...progress.calls, id] : progress.calls,
    };
  });
};

const findCall = statement<{ id: number; queued_at: string }>(`
  select c.id, c.queued_at::text as queued_at from (
    (select c.id, c.queued_at from calls c
      where c.account_id = $1 and c.to_phone = any (phone_spellings($2))
        and (c.queued_at, c.id) > ($3::text::timestamptz, $4)
      order by c.queued_at, c.id limit 1)
    union all
    (select c.id, c.queued_at from calls c
      where c.account_id = $1 and c.from_number = any ($5::text[])
        and (c.queued_at, c.id) > ($3::text::timestamptz, $4)
      order by c.queued_at, c.id limit 1)) c
  order by c.queued_at, c.id limit 1`);

/** Returns a row if the call is over; it is emptied if it was with the person as the customer. */
const eraseIfOver = statement(`
  with over as materialized (
    select c.id, c.to_phone from calls c
    where c.account_id = $1 and c.id = $2 and c.stage = 'ended' for no key update
  )
  select case when o.to_phone = any (phone_spellings($3)) then erase_call($1, o.id)::text end from over o`);

/** Empties the agent's side of an ended call if it was the person's phone; the customer's side stays. */
const eraseAgent = statement(`
  with theirs as materialized (
    update calls c set from_number = ''
    where c.account_id = $1 and c.id = $2 and c.from_number = any ($3::text[])
    returning c.campaign_id
  ), request as (
    update click_to_calls p set from_number = ''
    from theirs t where p.account_id = $1 and p.campaign_id = t.campaign_id and p.from_number = any ($3::text[])
  ), legs as (
    update call_legs l set number = ''
    where l.account_id = $1 and l.call_id = $2 and l.role = 'agent' and l.number = any ($3::text[])
  ), said as (
    delete from call_transcripts s using theirs t where s.account_id = $1 and s.call_id = $2
  )
  update call_events e set data = ${withoutNumber("e.data", "$4")}
  from theirs t where e.account_id = $1 and e.call_id = $2`);
