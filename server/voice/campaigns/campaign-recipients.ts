// The recipients of a campaign by id, each with the outcome of its last call.
import { sql, type Kysely } from "kysely";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { MenuStep } from "../../calls/records/call-record-schema.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import type { RecipientState, VoiceRecipientResponse } from "./campaign-record-schema.ts";

/** The filters of a list or an export of recipients; a recipient matches all that are given. */
export type RecipientFilter = {
  readonly state?: RecipientState | undefined;
  /** E.164 digits without the plus. */
  readonly phone?: string | undefined;
};

/** Returns a page of recipients. Refuses: validation-failed on a cursor of another list. */
export async function listRecipients(
  db: Kysely<DB>,
  key: CampaignKey,
  filter: RecipientFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: VoiceRecipientResponse[]; next_cursor: string | null }> {
  const after = at.cursor === undefined ? 0 : decodeCursor(at.cursor);
  const found = await recipientsAfter(db, key, filter, { id: after, limit: at.limit + 1 });
  const { rows, next } = page(found, at.limit);
  return { data: rows, next_cursor: next };
}

type RecipientRow = Omit<VoiceRecipientResponse, "due_at" | "finished_at" | "variables"> & {
  readonly variables: unknown;
  readonly due_at: Date;
  readonly finished_at: Date | null;
};

/** Returns the next recipients after an id that match the filter. */
export async function recipientsAfter(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
  filter: RecipientFilter,
  after: { id: number; limit: number },
): Promise<VoiceRecipientResponse[]> {
  const conditions = [sql`r.account_id = ${account_id}`, sql`r.campaign_id = ${campaign_id}`];
  conditions.push(sql`r.id > ${after.id}`);
  // A literal, because the planner cannot prove for a parameter that the partial index of open recipients applies.
  if (filter.state !== undefined) conditions.push(sql`r.state = ${sql.lit(filter.state)}`);
  if (filter.phone !== undefined) conditions.push(sql`r.phone = ${filter.phone}`);
  const query = sql<RecipientRow>`
    with page as materialized (
      select r.* from voice_recipients r
      where ${sql.join(conditions, sql` and `)} order by r.id limit ${after.limit}
    )
    select r.id, r.number, r.phone, r.variables, r.state, r.attempts, r.call_id,
      c.disposition as outcome, c.ended_reason, c.talk_seconds, coalesce(c.dtmf, '') as dtmf,
      m.menu_path, r.due_at, r.finished_at
    from page r
    left join calls c on c.account_id = ${account_id} and c.id = r.call_id
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('node', m.node, 'key', m.key, 'at', m.at) order by m.id), '[]') as menu_path
      from call_menu_steps m where m.account_id = ${account_id} and m.call_id = r.call_id) m
    order by r.id`;
  const { rows } = await searches.use(account_id, () => query.execute(db));
  return rows.map(recipientOf);
}

function recipientOf(row: RecipientRow): VoiceRecipientResponse {
  return {
    ...row,
    variables: row.variables as VoiceRecipientResponse["variables"],
    menu_path: row.menu_path.map(stepOf),
    due_at: row.state === "waiting" ? row.due_at.toISOString() : null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/** Converts the time, because PostgreSQL writes times in JSON with microseconds and an offset. */
function stepOf(step: MenuStep): MenuStep {
  return { ...step, at: new Date(step.at).toISOString() };
}
