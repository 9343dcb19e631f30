// The sources of a person's timeline. Each returns its entries before a position, newest first, by an index on
// the number: what it reads depends on the page and not on the account.
import { CompiledQuery, type Kysely } from "kysely";
import { only_lifted_reason } from "../../audience/suppressions/lift-suppressions.ts";
import { shownState, type RecipientState } from "../../chat/recipients/recipient-states.ts";
import {
  boundedRows,
  boundedSql,
  page_bytes_max,
  type BoundedRows,
  type Measured,
} from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import type { Part } from "../people-access.ts";
import { entry_kinds, type EntryKind, type PersonEntry } from "../person-schema.ts";
import { campaigns_max } from "./search-statements.ts";
import type { Position } from "./timeline-cursor.ts";

/** An entry with its position in its source. */
export type SourceEntry = PersonEntry & { readonly position: Position };

export type Source = {
  readonly kind: EntryKind;
  /** The part of the history that a caller must be allowed to see. */
  readonly part: Part;
  read(
    db: Kysely<DB>,
    person: { readonly account_id: number; readonly phone: string },
    before: Position,
    limit: number,
  ): Promise<BoundedRows<SourceEntry>>;
};

type Row = {
  readonly id: number;
  readonly at: Date;
  readonly at_us: number;
  readonly event: string;
  readonly data: Record<string, unknown>;
};

const leads_max = 100;
const groups_max = 500;
/** The newest replies of a person, whose answers are read: no index has the time of an answer. */
const answered_max = 500;

const microseconds = (column: string) =>
  `(extract(epoch from ${column}) * 1000000)::bigint as at_us`;
/** The position's time, exact to the microsecond. */
const before_at = "(timestamptz 'epoch' + $3::bigint * interval '1 microsecond')";

/** An equal part for each source, because a request reads all of them. */
const source_bytes_max = Math.floor(page_bytes_max / entry_kinds.length);

/** Expects $1 account, $2 phone, $3 and $4 the position, $5 the limit; selects the columns of a row. */
function source(kind: EntryKind, part: Part, text: string, order = "at desc, id desc"): Source {
  const bounded = boundedSql(text, {
    large: ["data"],
    order,
    bytes_max: source_bytes_max,
  });
  return {
    kind,
    part,
    read: async (db, { account_id, phone }, [at_us, id], limit) => {
      const values = [account_id, phone, at_us, id, limit];
      const measured = await db.executeQuery<Row & Measured>(CompiledQuery.raw(bounded, values));
      const { rows, isCut } = boundedRows<Row>(measured.rows);
      const entries = rows.map((row): SourceEntry => ({
        at: row.at.toISOString(),
        kind,
        event: kind === "message" ? shownState(row.event as RecipientState) : row.event,
        data: withTimes(row.data),
        position: [row.at_us, row.id],
      }));
      return { rows: entries, isCut };
    },
  };
}

/** PostgreSQL writes times inside JSON with microseconds and an offset. */
function withTimes(data: Row["data"]): Row["data"] {
  const isTime = (key: string, value: unknown) => key.endsWith("_at") && typeof value === "string";
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      isTime(key, value) ? new Date(value as string).toISOString() : value,
    ]),
  );
}

// Calls are a source of their own, with more detail than the lead's line about them.
const leads = source(
  "lead",
  "leads",
  `with mine as materialized (
    select l.id, l.workspace_id, l.name from workspaces w
    cross join lateral (
      select l.id, l.workspace_id, l.name from unnest(phone_spellings($2)) s (phone)
      cross join lateral (
        select l.id, l.workspace_id, l.name from leads l
        where l.account_id = $1 and l.workspace_id = w.id and l.phone = right(s.phone, 10)
          and l.phone_e164 = '+' || s.phone
        order by l.id desc limit ${leads_max}) l) l
    where w.account_id = $1 and w.active
    order by l.id desc limit ${leads_max}
  )
  select t.id, t.at, ${microseconds("t.at")}, t.kind as event, json_build_object('lead_id', m.id,
    'workspace_id', m.workspace_id, 'lead_name', m.name, 'user_id', t.user_id, 'data', t.data) as data
  from mine m
  cross join lateral (
    select t.id, t.at, t.kind, t.user_id, t.data from lead_timeline t
    where t.account_id = $1 and t.lead_id = m.id and t.id < $4 and t.kind <> 'call' and $3::bigint is not null
    order by t.id desc limit $5) t
  order by t.id desc limit $5`,
  "id desc",
);

const message_columns =
  "r.id, r.campaign_id, r.variables, r.state, r.error, r.error_code, r.dispatched_at, r.accepted_at, r.ended_at, r.sent_at, r.delivered_at, r.read_at";

// Messages that arrived are found by number and time; others in the newest campaigns, by number in each.
const messages = source(
  "message",
  "messages",
  `with arrived as materialized (
    select r.* from unnest(phone_spellings($2)) s (phone)
    cross join lateral (
      select ${message_columns} from chat_recipients r
      where r.account_id = $1 and r.phone = s.phone and r.accepted_at is not null
        and r.state in ('delivered', 'read') and (r.accepted_at, r.id) < (${before_at}, $4)
      order by r.accepted_at desc, r.id desc limit $5) r
  ), named as materialized (
    select r.* from person_bsuids b
    cross join lateral (
      select ${message_columns} from chat_recipients r
      where r.account_id = $1 and r.bsuid = b.bsuid and r.phone is null) r
    where b.account_id = $1 and b.phone_key = phone_key($2)
  ), other as materialized (
    select r.* from (
      select c.id from chat_campaigns c where c.account_id = $1 order by c.id desc limit ${campaigns_max}) c
    cross join unnest(phone_spellings($2)) s (phone)
    cross join lateral (
      select ${message_columns} from chat_recipients r
      where r.account_id = $1 and r.campaign_id = c.id and r.phone = s.phone
        and r.state not in ('delivered', 'read')) r
  ), found as materialized (
    select r.*, c.name, c.template_id, coalesce(r.accepted_at, r.dispatched_at, r.ended_at, c.created_at) as at
    from (select * from arrived union all select * from named union all select * from other) r
    join chat_campaigns c on c.account_id = $1 and c.id = r.campaign_id
  )
  select f.id, f.at, ${microseconds("f.at")}, f.state as event, json_build_object('campaign_id', f.campaign_id,
    'campaign_name', f.name, 'template_id', f.template_id, 'recipient_id', f.id, 'variables', f.variables,
    'error', f.error, 'error_code', f.error_code, 'sent_at', f.sent_at, 'delivered_at', f.delivered_at, 'read_at', f.read_at) as data
  from found f where (f.at, f.id) < (${before_at}, $4)
  order by f.at desc, f.id desc limit $5`,
);

const replies = source(
  "reply",
  "messages",
  `with from_phone as (
    select r.* from unnest(phone_spellings($2)) s (phone)
    cross join lateral (
      select r.* from chat_replies r
      where r.account_id = $1 and r.phone = s.phone and (r.received_at, r.id) < (${before_at}, $4)
      order by r.received_at desc, r.id desc limit $5) r
  ), from_bsuid as (
    select r.* from person_bsuids b
    cross join lateral (
      select r.* from chat_replies r
      where r.account_id = $1 and r.bsuid = b.bsuid and r.phone is null
        and (r.received_at, r.id) < (${before_at}, $4)
      order by r.received_at desc, r.id desc limit $5) r
    where b.account_id = $1 and b.phone_key = phone_key($2)
  )
  select r.id, r.received_at as at, ${microseconds("r.received_at")}, r.type as event, json_build_object(
    'reply_id', r.id, 'chat_number_id', r.chat_number_id, 'text', r.text, 'payload', r.payload,
    'campaign_id', r.campaign_id, 'opted_out', r.opted_out) as data
  from (select * from from_phone union all select * from from_bsuid) r
  order by r.received_at desc, r.id desc limit $5`,
);

const answers = source(
  "answer",
  "messages",
  `with replied as materialized (
    select r.* from (
      select r.* from unnest(phone_spellings($2)) s (phone)
      cross join lateral (
        select r.id, r.chat_number_id, r.answers from chat_replies r
        where r.account_id = $1 and r.phone = s.phone order by r.id desc limit ${answered_max}) r
      union all
      select r.* from person_bsuids b
      cross join lateral (
        select r.id, r.chat_number_id, r.answers from chat_replies r
        where r.account_id = $1 and r.bsuid = b.bsuid and r.phone is null
        order by r.id desc limit ${answered_max}) r
      where b.account_id = $1 and b.phone_key = phone_key($2)) r
    order by r.id desc limit ${answered_max}
  ), lines as (
    select r.id as reply_id, r.chat_number_id, e.answer, r.id * 1000 + e.n as line,
      (e.answer ->> 'sent_at')::timestamptz as at
    from replied r cross join lateral jsonb_array_elements(r.answers) with ordinality e (answer, n)
  )
  select l.line as id, l.at, ${microseconds("l.at")}, coalesce(l.answer ->> 'status', l.answer ->> 'outcome') as event, json_build_object(
    'reply_id', l.reply_id, 'chat_number_id', l.chat_number_id, 'message_id', l.answer -> 'message_id',
    'text', l.answer -> 'text', 'error', l.answer -> 'error', 'sent_by', l.answer -> 'sent_by',
    'status_at', l.answer -> 'status_at') as data
  from lines l where (l.at, l.line) < (${before_at}, $4)
  order by l.at desc, l.line desc limit $5`,
);

const calls = source(
  "call",
  "calls",
  `select c.id, c.queued_at as at, ${microseconds("c.queued_at")}, c.status as event, json_build_object(
    'call_id', c.id, 'campaign_id', c.campaign_id, 'direction', c.direction, 'from_number', c.from_number,
    'disposition', c.disposition, 'ended_reason', c.ended_reason, 'talk_seconds', c.talk_seconds,
    'lead_id', c.lead_id, 'remark', (select p.remark from click_to_calls p
      where p.account_id = $1 and p.campaign_id = c.campaign_id)) as data
  from unnest(phone_spellings($2)) s (phone)
  cross join lateral (
    select c.* from calls c
    where c.account_id = $1 and c.to_phone = s.phone and (c.queued_at, c.id) < (${before_at}, $4)
    order by c.queued_at desc, c.id desc limit $5) c
  order by c.queued_at desc, c.id desc limit $5`,
);

// A row is two lines once it was lifted, so its id is doubled. Rows that only record a lifting are none: times do not
// distinguish them, because our clock may be behind the provider's.
const suppressions = source(
  "suppression",
  "suppressions",
  `with known as (
    select s.* from suppressions s
    where s.account_id = $1 and s.person_key = phone_key($2)
      and (s.lifted_at is null or s.reason <> '${only_lifted_reason}')
  ), lines as (
    select k.*, k.occurred_at as at, 'suppressed' as event, k.id * 2 as line from known k
    union all
    select k.*, k.lifted_at, 'lifted', k.id * 2 + 1 from known k where k.lifted_at is not null
  )
  select l.line as id, l.at, ${microseconds("l.at")}, l.event, json_build_object('suppression_id', l.id,
    'channel', l.channel, 'scope', l.scope, 'source', l.source, 'reason', l.reason,
    'expires_at', l.expires_at) as data
  from lines l where (l.at, l.line) < (${before_at}, $4)
  order by l.at desc, l.line desc limit $5`,
);

const groups = source(
  "group",
  "groups",
  `select m.id, m.created_at as at, ${microseconds("m.created_at")}, 'joined' as event, json_build_object(
    'group_id', g.id, 'group_name', g.name, 'name', m.name) as data
  from (
    select g.id, g.name from groups g where g.account_id = $1 and g.deleted_at is null
    order by g.id desc limit ${groups_max}) g
  cross join lateral (
    select m.id, m.created_at, m.name from group_members m
    where m.account_id = $1 and m.group_id = g.id and m.phone_key = phone_key($2)
      and (m.created_at, m.id) < (${before_at}, $4)) m
  order by m.created_at desc, m.id desc limit $5`,
);

/** The order is part of the cursor. */
export const sources: readonly Source[] = [
  leads,
  messages,
  replies,
  calls,
  suppressions,
  groups,
  answers,
];
