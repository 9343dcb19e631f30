// Calls to the person, one at a time: a queued call is cancelled, a live call is awaited, and an ended call is
// emptied. The last part deletes the recordings.
import { cancelIfQueued } from "../../calls/controls/hang-up-call.ts";
import { statement } from "../../lib/database/database.ts";
import type { Part } from "./part.ts";

/** Between checks for the end of a call. */
const wait_ms = 30_000;

/** The call after which the next one is found; its time is in PostgreSQL's text form, to the microsecond. */
type At = { readonly queued_at: string; readonly id: number; readonly some_left: boolean };

const the_start: At = { queued_at: "-infinity", id: 0, some_left: false };

/** Each step handles one call. Live calls are checked again when the others are done. */
export const eraseCalls: Part = async ({ app, person, progress, write }) => {
  const { account_id, phone } = person;
  const at = (progress.at ?? the_start) as At;
  const [call] = await findCall(app.db.pool, [account_id, phone, at.queued_at, at.id]);
  if (!call)
    return write(async () =>
      at.some_left ? { at: the_start, wait_ms, waiting_for: "call" } : { at: null },
    );
  const { id, queued_at } = call;
  return write(async (tx, now) => {
    await cancelIfQueued(tx, { account_id, id }, now);
    const is_erased = (await eraseIfOver(tx, [account_id, id])).length > 0;
    return {
      at: { queued_at, id, some_left: at.some_left || !is_erased },
      counts: { calls: is_erased ? 1 : 0 },
      calls: is_erased ? [...progress.calls, id] : progress.calls,
    };
  });
};

const findCall = statement<{ id: number; queued_at: string }>(`
  select c.id, c.queued_at::text as queued_at from calls c
  where c.account_id = $1 and c.to_phone = $2 and (c.queued_at, c.id) > ($3::text::timestamptz, $4)
  order by c.queued_at, c.id limit 1`);

const eraseIfOver = statement(`
  with over as materialized (
    select c.id from calls c
    where c.account_id = $1 and c.id = $2 and c.stage = 'ended' for no key update
  )
  select erase_call($1, o.id) from over o`);
