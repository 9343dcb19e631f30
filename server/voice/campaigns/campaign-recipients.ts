// The recipients of a campaign by id, each with the outcome of its last call.
import { sql, type Kysely } from "kysely";
import {
  customerCallableFrom,
  type CallingWindow,
} from "../../accounts/accounts/calling-window.ts";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { MenuStep } from "../../calls/records/call-record-schema.ts";
import {
  decodeIntCursor,
  endOfSearch,
  page,
  readBounded,
  type BoundedRows,
} from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import { phoneSpellings } from "../../lib/phone-key.ts";
import { splitTimeZones } from "../../lib/phone-time-zones/phone-time-zones.ts";
import { failureReason } from "./internal/failure-reason.ts";
import type { RecipientState, VoiceRecipientResponse } from "./campaign-record-schema.ts";

/** The filters of a list or an export of recipients; a recipient matches all that are given. */
export type RecipientFilter = {
  readonly state?: RecipientState | undefined;
  /** Why they were not reached, as their failures are counted. */
  readonly reason?: string | undefined;
  /** E.164 digits without the plus; any spelling of it matches. */
  readonly phone?: string | undefined;
};

/** Returns a page of recipients. Refuses: validation-failed on a cursor of another list. */
export async function listRecipients(
  db: Kysely<DB>,
  key: CampaignKey,
  filter: RecipientFilter,
  at: { limit: number; cursor?: string | undefined; now: Date },
): Promise<{ data: VoiceRecipientResponse[]; next_cursor: string | null }> {
  const after = at.cursor === undefined ? 0 : decodeIntCursor(at.cursor);
  const end = await endOfRecipients(db, key, filter, after);
  const found = await recipientsAfter(db, key, filter, {
    id: after,
    end,
    limit: at.limit + 1,
    now: at.now,
  });
  const { rows, next } = page(found, at.limit, end);
  return { data: rows, next_cursor: next };
}

/** Neither number, state nor reason has an index for lists: each would be written for every call. */
async function endOfRecipients(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
  { state, reason, phone }: RecipientFilter,
  after: number,
): Promise<number | null> {
  if (state === undefined && reason === undefined && phone === undefined) return null;
  const all = db
    .selectFrom("voice_recipients")
    .select("id")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .where("id", ">", after)
    .orderBy("id");
  return endOfSearch(all);
}

type RecipientRow = Omit<
  VoiceRecipientResponse,
  "due_at" | "finished_at" | "variables" | "time_zones" | "callable_from"
> & {
  readonly variables: unknown;
  readonly due_at: Date;
  readonly finished_at: Date | null;
  /** Joined by `&`. */
  readonly time_zones: string;
  readonly hours: CallingWindow;
};

const with_reason = sql`left join calls c on c.account_id = r.account_id and c.id = r.call_id`;

/** Returns the next recipients after an id that match the filter. */
export async function recipientsAfter(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
  filter: RecipientFilter,
  after: { id: number; end?: number | null; limit: number; now: Date },
): Promise<BoundedRows<VoiceRecipientResponse>> {
  const conditions = [sql`r.account_id = ${account_id}`, sql`r.campaign_id = ${campaign_id}`];
  conditions.push(sql`r.id > ${after.id}`);
  if (typeof after.end === "number") conditions.push(sql`r.id <= ${after.end}`);
  // A literal, because the planner cannot prove for a parameter that the partial index of open recipients applies.
  if (filter.state !== undefined) conditions.push(sql`r.state = ${sql.lit(filter.state)}`);
  if (filter.phone !== undefined)
    conditions.push(sql`r.phone = any (${phoneSpellings(filter.phone)}::text[])`);
  if (filter.reason !== undefined)
    conditions.push(sql`r.state in ('busy', 'no_answer', 'failed', 'suppressed', 'skipped')
      and ${failureReason("r")} = ${filter.reason}`);
  const query = sql<RecipientRow>`
    with page as materialized (
      select r.* from voice_recipients r
      ${filter.reason === undefined ? sql`` : with_reason}
      where ${sql.join(conditions, sql` and `)} order by r.id limit ${after.limit}
    )
    select r.id, r.number, r.phone, r.variables, r.state, r.skip_reason, r.attempts, r.call_id,
      c.disposition as outcome, c.ended_reason, c.talk_seconds, coalesce(c.dtmf, '') as dtmf,
      m.menu_path, r.due_at, r.time_zones, r.finished_at,
      json_build_object('time_zone', a.time_zone, 'night_calling', a.night_calling,
        'calling_from', a.calling_from, 'calling_to', a.calling_to) as hours
    from page r
    join accounts a on a.account_id = ${account_id}
    left join calls c on c.account_id = ${account_id} and c.id = r.call_id
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('node', m.node, 'key', m.key, 'at', m.at) order by m.id), '[]') as menu_path
      from call_menu_steps m where m.account_id = ${account_id} and m.call_id = r.call_id) m
    order by r.id`;
  const { rows, isCut } = await searches.use(account_id, () =>
    readBounded(db, query, { large: ["variables", "menu_path"], order: "id" }),
  );
  const opensAt = openOpenings(after.now);
  return { rows: rows.map((row) => recipientOf(row, opensAt)), isCut };
}

/** Opens a cache: most recipients of a page share a few lists of zones. */
function openOpenings(now: Date): (row: RecipientRow) => Date | null {
  const known = new Map<string, Date | null>();
  return ({ hours, time_zones }) => {
    const found = known.get(time_zones);
    if (found !== undefined) return found;
    const from = customerCallableFrom(hours, splitTimeZones(time_zones), now);
    const opens_at = from && from > now ? from : null;
    known.set(time_zones, opens_at);
    return opens_at;
  };
}

function recipientOf(
  whole: RecipientRow,
  opensAt: (row: RecipientRow) => Date | null,
): VoiceRecipientResponse {
  const { hours: _hours, ...row } = whole;
  const isWaiting = row.state === "waiting";
  return {
    ...row,
    time_zones: splitTimeZones(row.time_zones),
    callable_from: isWaiting ? (opensAt(whole)?.toISOString() ?? null) : null,
    variables: row.variables as VoiceRecipientResponse["variables"],
    menu_path: row.menu_path.map(stepOf),
    due_at: isWaiting ? row.due_at.toISOString() : null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/** Converts the time, because PostgreSQL writes times in JSON with microseconds and an offset. */
function stepOf(step: MenuStep): MenuStep {
  return { ...step, at: new Date(step.at).toISOString() };
}
