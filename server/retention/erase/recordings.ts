// Recordings of the person's calls, and messages that were left, at the nodes that made them. A node that
// does not answer is asked again later, once in a round.
import { deleteRecordings, recordingName } from "../../calls/audio/delete-recordings.ts";
import { statement } from "../../lib/database/database.ts";
import type { Part } from "./part.ts";

/** For a node that did not answer. */
const wait_ms = 30_000;

/** The last call that was looked at in this round, and the nodes that did not answer. */
type At = { readonly id: number; readonly silent: readonly number[] };

const the_start: At = { id: 0, silent: [] };

/** A step is a call. */
export const eraseRecordings: Part = async ({ app, person, progress, stopping, write }) => {
  const { account_id } = person;
  const at = (progress.at ?? the_start) as At;
  const [call] = await findCall(app.db.pool, [account_id, progress.calls, at.id, at.silent]);
  if (!call)
    return write(async () =>
      at.silent.length > 0 ? { at: the_start, wait_ms, waiting_for: "recording" } : { at: null },
    );
  const { id, node_id, is_recorded, messages } = call;
  const names = is_recorded ? [recordingName(account_id, id), ...messages] : messages;
  const { deleted, failure } = await deleteRecordings(app, node_id, names, stopping);
  if (failure !== null)
    app.log.warn({ node_id, reason: failure }, "a node did not delete recordings");
  return write(async (tx) => {
    if (failure !== null) return { at: { id, silent: [...at.silent, node_id] } };
    // Stopped on the way.
    if (deleted.length < names.length) return { at };
    await markGone(tx, [account_id, id]);
    await deleteMessages(tx, [account_id, id]);
    return { at: { ...at, id }, counts: { recordings: names.length } };
  });
};

type FoundCall = {
  readonly id: number;
  readonly node_id: number;
  readonly is_recorded: boolean;
  readonly messages: readonly string[];
};

const findCall = statement<FoundCall>(`
  select c.id, c.node_id, c.recording_state in ('ready', 'failed') as is_recorded, m.messages
  from calls c
  cross join lateral (
    select coalesce(array_agg(m.recording) filter (where m.state <> 'deleted'), '{}') as messages
    from call_messages m where m.account_id = $1 and m.call_id = c.id) m
  where c.account_id = $1 and c.id = any ($2::bigint[]) and c.id > $3 and c.node_id <> all ($4::bigint[])
    and (c.recording_state in ('ready', 'failed') or cardinality(m.messages) > 0)
  order by c.id limit 1`);

const markGone = statement(`
  update calls set recording_state = 'deleted'
  where account_id = $1 and id = $2 and recording_state in ('ready', 'failed')`);

const deleteMessages = statement(
  "delete from call_messages where account_id = $1 and call_id = $2",
);
