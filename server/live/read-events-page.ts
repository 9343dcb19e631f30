// Reads the events after a position in the account's order, as SSE frames.
import { callbackBody } from "../callbacks/endpoints/callback-body.ts";
import { statement, type Executor } from "../lib/database/database.ts";
import { eventFrame } from "./event-frame.ts";

/** How many events a reader may be behind without a resync. */
export const behind_max = 10_000;
export const page_events_max = 200;
/** Bounds the memory of a stream whose reader has stalled. */
const page_bytes_max = 131_072;

export type LiveEvent = { readonly seq: number; readonly type: string; readonly frame: string };

/**
 * Why the events that a reader missed cannot be sent: there are too many (`behind`), they were deleted
 * (`expired`), or the reader's position is beyond the newest event, as after a restore (`ahead`).
 */
export type ResyncReason = "behind" | "expired" | "ahead";

export type EventsPage = {
  /** The newest seq. */
  readonly head: number;
  /** In order and without gaps, directly after the requested position, as many as fit. */
  readonly events: readonly LiveEvent[];
  /** If not null, there are no events, and reading continues from the head. */
  readonly resync: ResyncReason | null;
  /** The limit for the next page: about as many events as fit, so that large events are not read twice. */
  readonly limit: number;
};

type Row = {
  head: number;
  seq: number | null;
  type: string;
  occurred_at: Date;
  data: Record<string, unknown>;
};

// Head and events in one snapshot. With 200,000 events in the account: 0.5 ms for 200, 0.1 ms for none.
// `bytes_before` excludes the event itself, so that a page has at least one event.
const readEvents = statement<Row>(`
  select h.seq as head, t.seq, t.type, t.occurred_at, t.data
  from (select coalesce((select seq from event_heads where account_id = $1), 0) as seq) h
  left join lateral (
    select e.seq, e.type, e.occurred_at, e.data,
      sum(e.bytes) over (order by e.seq) - e.bytes as bytes_before
    from (
      select e.seq, e.type, e.occurred_at, e.data, octet_length(e.data::text) as bytes from events e
      where e.account_id = $1 and e.seq > $2::bigint and h.seq - $2::bigint <= $3
      order by e.seq limit $4) e
  ) t on t.bytes_before < $5
  order by t.seq`);

/** Returns a page of at most `limit` events after `after`. */
export async function readEventsPage(
  db: Executor,
  accountId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<EventsPage> {
  const rows = await readEvents(db, [accountId, after, behind_max, limit, page_bytes_max]);
  const { head } = rows[0]!;
  const found = rows.filter((row) => row.seq !== null) as (Row & { seq: number })[];
  const resync = validatePlace(after, head, found);
  if (resync !== null) return { head, events: [], resync, limit };
  const events = found.map(({ seq, ...event }) => ({
    seq,
    type: event.type,
    frame: eventFrame({ id: seq, event: event.type, data: callbackBody(event) }),
  }));
  const isCut = found.length < limit && after + found.length < head;
  const fits = isCut ? found.length * 2 : Math.min(limit * 2, page_events_max);
  return { head, events, resync, limit: fits };
}

/** Because the relay numbers events without gaps, missing events were deleted. */
function validatePlace(
  after: number,
  head: number,
  found: readonly { readonly seq: number }[],
): ResyncReason | null {
  if (after > head) return "ahead";
  if (head - after > behind_max) return "behind";
  const isWhole = found.every(({ seq }, i) => seq === after + 1 + i);
  return isWhole && (found.length > 0 || after === head) ? null : "expired";
}

const readHeads = statement<{ account_id: number; seq: number }>(
  "select account_id, seq from event_heads where account_id = any ($1)",
);

/** Returns the newest seq of each account that has events, by account. */
export async function readEventHeads(
  db: Executor,
  accountIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await readHeads(db, [accountIds]);
  return new Map(rows.map(({ account_id, seq }) => [account_id, seq]));
}
