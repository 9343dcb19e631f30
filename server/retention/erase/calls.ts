// Calls to the person, one after the other: one that waits is taken back, one that is under way waited
// for; the recordings of one that is over are deleted at its node, and then it is emptied.
import { deleteRecordings, recordingName } from "../../calls/delete-recordings.ts";
import { takeBackCall } from "../../calls/hang-up-call.ts";
import { statement } from "../../lib/database.ts";
import type { Part, StepContext } from "./part.ts";

/** For the end of a call, or a node that did not answer. */
const wait_ms = 30_000;

/** Behind which call the next one is looked for; its time as PostgreSQL writes it, to the microsecond. */
type At = { readonly queued_at: string; readonly id: number; readonly some_left: boolean };

const the_start: At = { queued_at: "-infinity", id: 0, some_left: false };

type FoundCall = {
  readonly id: number;
  readonly queued_at: string;
  readonly node_id: number;
  readonly is_over: boolean;
  readonly is_recorded: boolean;
  readonly messages: readonly string[];
};

/** A step is a call. Those that are left are looked at again once the others are done. */
export const eraseCalls: Part = async (context) => {
  const { app, person, progress, write } = context;
  const { account_id, phone } = person;
  const at = (progress.at ?? the_start) as At;
  const [call] = await findCall(app.db.pool, [account_id, phone, at.queued_at, at.id]);
  if (!call) return write(async () => (at.some_left ? { at: the_start, wait_ms } : { at: null }));
  const recordings = await deleteItsRecordings(context, call);
  const { id, queued_at } = call;
  return write(async (tx, now) => {
    await takeBackCall(tx, { account_id, id }, now);
    const [row] = await eraseIfOver(tx, [account_id, id, call.is_over && recordings !== null]);
    const is_erased = row !== undefined;
    return {
      at: { queued_at, id, some_left: at.some_left || !is_erased },
      counts: { calls: is_erased ? 1 : 0, recordings: is_erased ? (recordings ?? 0) : 0 },
    };
  });
};

/** How many there were and are gone for certain; null: its node did not do it. */
async function deleteItsRecordings(
  { app, person, stopping }: StepContext,
  call: FoundCall,
): Promise<number | null> {
  if (!call.is_over) return 0;
  const own = call.is_recorded ? [recordingName(person.account_id, call.id)] : [];
  const names = [...own, ...call.messages];
  if (names.length === 0) return 0;
  const { deleted, failure } = await deleteRecordings(app, call.node_id, names, stopping);
  if (failure !== null)
    app.log.warn({ node_id: call.node_id, reason: failure }, "a node did not delete recordings");
  return deleted.length === names.length ? deleted.length : null;
}

const findCall = statement<FoundCall>(`
  select c.id, c.queued_at::text as queued_at, c.node_id, c.stage = 'ended' as is_over,
    c.recording_state = 'ready' as is_recorded,
    array(
      select m.recording from call_messages m
      where m.account_id = $1 and m.call_id = c.id and m.state <> 'deleted') as messages
  from calls c
  where c.account_id = $1 and c.to_phone = $2 and (c.queued_at, c.id) > ($3::text::timestamptz, $4)
  order by c.queued_at, c.id limit 1`);

// $3: its recordings are gone. One that has ended since it was found is left for the next look if it has any.
const eraseIfOver = statement(`
  with over as materialized (
    select c.id from calls c
    where c.account_id = $1 and c.id = $2 and c.stage = 'ended' and ($3::boolean or (
      c.recording_state <> 'ready' and not exists (
        select from call_messages m
        where m.account_id = $1 and m.call_id = c.id and m.state = 'ready')))
    for no key update
  )
  select erase_call($1, o.id) from over o`);
