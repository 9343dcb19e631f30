// Recordings of the person's calls, and the voice messages that the person recorded as a customer, on the nodes that
// made them. A node that does not respond, and a recording that its node refuses to delete, are tried again in the next
// round.
import { deleteRecordings, recordingName } from "../../calls/audio/delete-recordings.ts";
import { statement } from "../../lib/database/database.ts";
import { eraseSavedViews, eraseSuppressionTexts, eraseUnreadWebhooks } from "./found-by-index.ts";
import type { Part, Step } from "./part.ts";

/** Between rounds. */
const wait_ms = 30_000;

/** The last call handled in this round, the nodes that did not respond, and whether a recording was refused. */
type At = {
  readonly id: number;
  readonly silent: readonly number[];
  readonly is_refused?: boolean;
  /** From the first wait on: the index of the first of the later parts that is not done, and its own position. */
  readonly later?: { readonly part: number; readonly at: unknown };
};

const the_start: At = { id: 0, silent: [] };

/** They follow, and are also executed before the first wait, because a node may be silent for days. */
export const later_parts: readonly Part[] = [
  eraseUnreadWebhooks,
  eraseSavedViews,
  eraseSuppressionTexts,
];

/** Each step handles one call, or is one of a later part. */
export const eraseRecordings: Part = async (context) => {
  const { app, person, progress, stopping, write } = context;
  const { account_id, erasure_id } = person;
  const at = (progress.at ?? the_start) as At;
  if (at.later && at.later.part < later_parts.length) return runLaterPart(context, at.later);
  const [call] = await findCall(app.db.pool, [account_id, erasure_id, at.id, at.silent]);
  if (!call)
    return write(async () =>
      at.silent.length > 0 || at.is_refused ? nextRound(at) : { at: null },
    );
  const { id, node_id, is_recorded, is_customer, messages } = call;
  const names = is_recorded ? [recordingName(account_id, id), ...messages] : messages;
  const { deleted, refused, failure } = await deleteRecordings(app, node_id, names, stopping);
  for (const { reason } of refused)
    app.log.warn(
      { account_id, subject_id: id },
      `voice node refused to delete a call's recording: ${reason}`,
    );
  if (failure !== null)
    app.log.warn({ subject_id: node_id }, `voice node could not delete recordings: ${failure}`);
  return write(async (tx) => {
    if (failure !== null) return { at: { ...at, id, silent: [...at.silent, node_id] } };
    if (refused.length > 0) return { at: { ...at, id, is_refused: true } };
    // Stopped before all were deleted.
    if (deleted.length < names.length) return { at };
    await markDeleted(tx, [account_id, id]);
    if (is_customer) await deleteMessages(tx, [account_id, id]);
    return { at: { ...at, id }, counts: { recordings: names.length } };
  });
};

function nextRound({ later }: At): Step {
  const waiting_for = "recording";
  if (!later) return { at: { ...the_start, later: { part: 0, at: null } }, waiting_for };
  return { at: { ...the_start, later }, wait_ms, waiting_for };
}

function runLaterPart(
  context: Parameters<Part>[0],
  { part, at }: NonNullable<At["later"]>,
): Promise<Step> {
  return later_parts[part]!({
    ...context,
    progress: { ...context.progress, at },
    write: (effect) =>
      context.write(async (tx, now) => {
        const step = await effect(tx, now);
        const later = step.at === null ? { part: part + 1, at: null } : { part, at: step.at };
        const wait = later.part < later_parts.length ? {} : { wait_ms };
        return { ...step, ...wait, at: { ...the_start, later } };
      }),
  });
}

type FoundCall = {
  readonly id: number;
  readonly node_id: number;
  readonly is_recorded: boolean;
  readonly is_customer: boolean;
  /** Only the customer's own: an agent is on the call after its messages. */
  readonly messages: readonly string[];
};

const findCall = statement<FoundCall>(`
  select c.id, c.node_id, c.recording_state in ('ready', 'failed') as is_recorded, p.is_customer, m.messages
  from erasure_records r
  join calls c on c.account_id = $1 and c.id = r.record_id
  cross join lateral (
    select exists (
      select from erasure_records o
      where o.account_id = $1 and o.erasure_id = $2 and o.record_id = c.id and o.kind = 'customer_call') as is_customer) p
  cross join lateral (
    select coalesce(array_agg(m.recording) filter (where m.state <> 'deleted'), '{}') as messages
    from call_messages m where m.account_id = $1 and m.call_id = c.id and p.is_customer) m
  where r.account_id = $1 and r.erasure_id = $2 and r.record_id > $3 and r.kind in ('customer_call', 'agent_call')
    and c.node_id <> all ($4::bigint[])
    and (c.recording_state in ('ready', 'failed') or cardinality(m.messages) > 0)
  order by r.record_id limit 1`);

const markDeleted = statement(`
  update calls set recording_state = 'deleted'
  where account_id = $1 and id = $2 and recording_state in ('ready', 'failed')`);

const deleteMessages = statement(
  "delete from call_messages where account_id = $1 and call_id = $2",
);
