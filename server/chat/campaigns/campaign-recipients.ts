// Lists the recipients of a campaign by ID, filtered by state, number or error.
import { sql, type Kysely } from "kysely";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import {
  decodeCursor,
  endOfSearch,
  page,
  readBounded,
  type BoundedRows,
} from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { searches } from "../../lib/database/searches.ts";
import { phoneKey, phoneSpellings } from "../../lib/phone-key.ts";
import { storedStates, type RecipientResponse, type ShownState } from "./campaign-record-schema.ts";
import { countOfState, shownState, type RecipientState } from "../recipients/recipient-states.ts";

/** The filters of a list or export of recipients; each is optional and all must match. */
export type RecipientFilter = {
  readonly state?: ShownState | undefined;
  /** E.164 digits without the plus; matches all spellings of the number, and the BSUIDs that are linked to it. */
  readonly phone?: string | undefined;
  /** The service's error name, such as `undeliverable`. */
  readonly error?: string | undefined;
};

/** Returns a page of recipients. Errors: not-found; 422 for a cursor of another list. */
export async function listRecipients(
  db: Kysely<DB>,
  key: CampaignKey,
  filter: RecipientFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: RecipientResponse[]; next_cursor: string | null }> {
  const after = at.cursor === undefined ? 0 : decodeCursor(at.cursor);
  await requireCampaign(db, key);
  const end = await endOfRecipients(db, key, filter, after);
  const found = await recipientsAfter(db, key, filter, { id: after, end, limit: at.limit + 1 });
  const { rows, next } = page(found, at.limit, end);
  return { data: rows, next_cursor: next };
}

/** Throws not-found unless the campaign exists. */
export async function requireCampaign(db: Kysely<DB>, key: CampaignKey): Promise<void> {
  const found = await db
    .selectFrom("chat_campaigns")
    .select("id")
    .where("account_id", "=", key.account_id)
    .where("id", "=", key.campaign_id)
    .executeTakeFirst();
  if (!found) throw notFound();
}

/** Only phones have an index of their own: one by state or error would be written for every message. */
async function endOfRecipients(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
  { state, phone, error }: RecipientFilter,
  after: number,
): Promise<number | null> {
  if (phone !== undefined || (state === undefined && error === undefined)) return null;
  let all = db
    .selectFrom("chat_recipients")
    .select("id")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .where("id", ">", after)
    .orderBy("id");
  if (state !== undefined && isPending(state))
    all = all.where("accepted_at", "is", null).where("ended_at", "is", null);
  return endOfSearch(all);
}

const isPending = (state: ShownState) =>
  storedStates(state).every((stored) => countOfState[stored] === "pending");

/**
 * Returns the next matching recipients after an ID, up to the ID `end`. An export by a rare error or final state reads
 * the campaign: 0.2 to 1 s of a million recipients.
 */
export async function recipientsAfter(
  db: Kysely<DB>,
  key: CampaignKey,
  filter: RecipientFilter,
  after: { id: number; end?: number | null; limit: number },
): Promise<BoundedRows<RecipientResponse>> {
  let query = db
    .selectFrom("chat_recipients")
    .select(["id", "phone", "variables", "state", "error_code", "error", "dispatches"])
    .select(["provider_message_id", "due_at", "dispatched_at", "accepted_at", "sent_at"])
    .select(["delivered_at", "read_at", "ended_at"])
    .select(knownBsuid(key.account_id))
    .where("account_id", "=", key.account_id)
    .where("campaign_id", "=", key.campaign_id)
    .where("id", ">", after.id);
  if (typeof after.end === "number") query = query.where("id", "<=", after.end);
  if (filter.state !== undefined) {
    // Written as literals: with a parameter the planner cannot use the partial index.
    const states = storedStates(filter.state);
    const literals = states.map((state) => sql.lit(state));
    query = query.where(sql<boolean>`state in (${sql.join(literals)})`);
    if (isPending(filter.state))
      query = query.where("accepted_at", "is", null).where("ended_at", "is", null);
  }
  if (filter.phone !== undefined) query = query.where(isOf(key.account_id, filter.phone));
  if (filter.error !== undefined) query = query.where("error", "=", filter.error);
  const first = query.orderBy("id").limit(after.limit);
  const { rows, isCut } = await searches.use(key.account_id, () =>
    readBounded(db, first, { large: ["variables"], order: "id" }),
  );
  return { rows: rows.map(recipientOf), isCut };
}

/** A recipient who was addressed by BSUID has no phone here, but it may be known. */
function isOf(accountId: number, phone: string) {
  return sql<boolean>`(phone = any (${phoneSpellings(phone)}::text[]) or (phone is null and bsuid = any (array(
    select b.bsuid from person_bsuids b
    where b.account_id = ${accountId} and b.phone_key = ${phoneKey(phone)}))))`;
}

/** A recipient who was addressed by phone may have a BSUID that delivery statuses reported. */
const knownBsuid = (accountId: number) =>
  sql<string | null>`coalesce(bsuid, (
  select b.bsuid from person_bsuids b
  where b.account_id = ${accountId} and b.phone_key = phone_key(chat_recipients.phone)
  order by b.bsuid limit 1))`.as("bsuid");

type RecipientRow = {
  readonly id: number;
  readonly phone: string | null;
  readonly bsuid: string | null;
  readonly variables: unknown;
  readonly state: string;
  readonly dispatches: number;
} & Readonly<
  Record<(typeof times)[number], Date | null> &
    Pick<RecipientResponse, "error_code" | "error" | "provider_message_id">
>;

const times = [
  "due_at",
  "dispatched_at",
  "accepted_at",
  "sent_at",
  "delivered_at",
  "read_at",
  "ended_at",
] as const;

function recipientOf(row: RecipientRow): RecipientResponse {
  const iso = (time: Date | null) => time?.toISOString() ?? null;
  return {
    id: row.id,
    phone_number: row.phone,
    variables: row.variables as RecipientResponse["variables"],
    state: shownState(row.state as RecipientState) as ShownState,
    error_code: row.error_code,
    error: row.error,
    attempts: row.dispatches,
    provider_message_id: row.provider_message_id,
    due_at: iso(row.due_at),
    dispatched_at: iso(row.dispatched_at),
    accepted_at: iso(row.accepted_at),
    sent_at: iso(row.sent_at),
    delivered_at: iso(row.delivered_at),
    read_at: iso(row.read_at),
    ended_at: iso(row.ended_at),
    bsuid: row.bsuid,
  };
}
