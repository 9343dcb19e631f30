// Creates a campaign and submits it (contract 4.2): its recipients, its credit and its events in one
// transaction. It is never a draft.
import type pg from "pg";
import { sql } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import { reserveCredits } from "../../credits/reserve-credits.ts";
import { addJob } from "../../engine/add-job.ts";
import type { App } from "../../engine/app.ts";
import type { EventData } from "../../engine/event-catalogue.ts";
import { recordEvents, type NewEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalid, type FieldError } from "../../lib/errors.ts";
import type { CampaignHead, ChatCampaignAnswer } from "./chat-campaign-schema.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";
import { refuseWithoutCredit } from "./intake/refuse-without-credit.ts";
import {
  removeSuppressed,
  storeLines,
  storeRows,
  type CampaignPlace,
} from "./intake/store-recipients.ts";
import { validateCampaign, type CampaignOrder } from "./validate-campaign.ts";
import type { PreparedCampaign } from "./prepare-campaign.ts";

/** Runs a write in a transaction; the second kind may last, and has the connection for COPY. */
export type CampaignWrites = {
  write<Answer>(effect: (tx: Tx) => Promise<Answer>): Promise<Answer>;
  writeWithClient<Answer>(
    statement_seconds: number,
    effect: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
  ): Promise<Answer>;
};

/** Whose campaign it is. */
export type CampaignOwner = {
  readonly account: Caller["account"];
  readonly actor: UserActor;
};

/** Writes the recipients of a campaign and says how many it wrote, and how many numbers it trimmed. */
export type StoreRecipients = (
  tx: Tx,
  place: CampaignPlace,
) => Promise<{ readonly stored: number; readonly invalid: number; readonly duplicate: number }>;

/** One statement of a campaign may take so long. */
export const statement_seconds = 600;

/**
 * The campaign of a JSON body. Refuses bad-request, validation-failed and insufficient-credit in the
 * contract's order, with nothing created; unavailable when too many large campaigns wait.
 */
export async function createChatCampaign(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  { head, sent, counts, recipients }: PreparedCampaign & { readonly head: CampaignHead },
): Promise<ChatCampaignAnswer> {
  const now = app.clock.now();
  const has_recipients = sent > 0;
  const order = await validateCampaign(app.db.query, owner.account, head, { has_recipients, now });
  if (counts.valid === 0) throw noValidContacts(counts);
  await refuseWithoutCredit(app.db.query, owner.account.id, counts.valid, now);
  const { valid: stored, ...trimmed } = counts;
  const answer =
    recipients.form === "rows"
      ? await writes.write((tx) =>
          writeCampaign(tx, owner.actor, order, now, async (_tx, place) => {
            await storeRows(tx, place, recipients.phones, recipients.variables);
            return { stored, ...trimmed };
          }),
        )
      : await writes.writeWithClient(statement_seconds, (tx, client) =>
          writeCampaign(tx, owner.actor, order, now, async (_tx, place) => {
            await storeLines(client, place, recipients.chunks, statement_seconds);
            return { stored, ...trimmed };
          }),
        );
  wakeSenders(app, owner.account.id, [order.chat_number_id]);
  return answer;
}

/** What a campaign is refused with that nobody would get: says what was trimmed. */
export function noValidContacts(trimmed: {
  readonly invalid: number;
  readonly duplicate: number;
  readonly blacklisted?: number;
}): Refusal {
  const parts = [
    [trimmed.invalid, "no possible phone number with its country code"],
    [trimmed.duplicate, "duplicate"],
    [trimmed.blacklisted ?? 0, "suppressed"],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const detail = told.length > 0 ? told.join(", ") : "there were none";
  return new Refusal("bad-request", `No valid contacts remain: ${detail}`);
}

/**
 * Writes a campaign whose fields were validated. The reservation takes the balance's lock, which others
 * wait for, and comes last. Refuses bad-request when nobody is left, and insufficient-credit.
 */
export async function writeCampaign(
  tx: Tx,
  actor: CampaignOwner["actor"],
  order: CampaignOrder,
  now: Date,
  storeRecipients: StoreRecipients,
): Promise<ChatCampaignAnswer> {
  const { account_id } = actor;
  await keepGrounds(tx, account_id, order);
  const campaign_id = await nextCampaignId(tx);
  const place = { account_id, campaign_id };
  const { stored, ...unfit } = await storeRecipients(tx, place);
  const blacklisted = await removeSuppressed(tx, place, stored, now);
  const total = stored - blacklisted;
  if (total === 0) throw noValidContacts({ ...unfit, blacklisted });
  await tx
    .insertInto("chat_counts")
    .values({ ...place, slot: "controls", queued: total })
    .execute();
  const { scheduled_at } = order;
  const state = scheduled_at ? "scheduled" : "running";
  if (scheduled_at)
    await addJob(
      tx,
      {
        account_id,
        kind: "chat.start_campaign",
        subject: String(campaign_id),
        run_at: scheduled_at,
      },
      now,
    );
  const trimmed = { ...unfit, blacklisted };
  await recordEvents(tx, newsOf(place, order, { total, trimmed }, now));
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_campaign.created",
    subject_id: campaign_id,
    detail: { total },
  });
  const subject = `chat_campaign:${campaign_id}`;
  const credit = { account_id, kind: "chat", subject, amount: total } as const;
  const reservation_id = await reserveCredits(tx, credit, now);
  await insertCampaign(tx, actor, order, {
    campaign_id,
    state,
    total,
    trimmed,
    reservation_id,
    now,
  });
  return {
    id: campaign_id,
    name: order.name,
    status: state,
    total_contacts: total,
    sent_count: 0,
    failed_count: 0,
    pending_count: total,
    scheduled_at: scheduled_at?.toISOString() ?? null,
    created_at: now.toISOString(),
  };
}

/** It was created; one that is not scheduled begins at once. */
function newsOf(
  { account_id, campaign_id }: CampaignPlace,
  { name, scheduled_at }: CampaignOrder,
  { total, trimmed }: Pick<EventData<"chat.campaign.created">, "trimmed"> & { total: number },
  occurred_at: Date,
): NewEvent[] {
  const campaign = { campaign_id, name };
  const created: NewEvent = {
    account_id,
    type: "chat.campaign.created",
    occurred_at,
    data: {
      ...campaign,
      status: scheduled_at ? "scheduled" : "running",
      total_contacts: total,
      trimmed,
      scheduled_at: scheduled_at?.toISOString() ?? null,
    },
  };
  if (scheduled_at) return [created];
  return [created, { account_id, type: "chat.campaign.started", occurred_at, data: campaign }];
}

/** Number and template stay until the campaign is there: whoever takes them away looks for campaigns. */
async function keepGrounds(tx: Tx, accountId: number, order: CampaignOrder): Promise<void> {
  const number = await tx
    .selectFrom("chat_numbers")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", order.chat_number_id)
    .where("active", "=", true)
    .forKeyShare()
    .executeTakeFirst();
  const template =
    order.template_id === null ||
    (await tx
      .selectFrom("chat_templates")
      .select("id")
      .where("account_id", "=", accountId)
      .where("id", "=", order.template_id)
      .forKeyShare()
      .executeTakeFirst());
  const violations: FieldError[] = [];
  if (!number) violations.push({ field: "chat_number_id", reason: "was just deactivated" });
  if (!template) violations.push({ field: "template_id", reason: "was just deleted" });
  if (violations.length > 0) throw invalid(violations);
}

/** Before the campaign itself, because its row is written last, complete. */
async function nextCampaignId(tx: Tx): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('chat_campaigns', 'id')) as id`.execute(tx);
  return rows[0]!.id;
}

async function insertCampaign(
  tx: Tx,
  actor: CampaignOwner["actor"],
  order: CampaignOrder,
  made: {
    readonly campaign_id: number;
    readonly state: "running" | "scheduled";
    readonly total: number;
    readonly trimmed: object;
    readonly reservation_id: number;
    readonly now: Date;
  },
): Promise<void> {
  const { campaign_id, state, total, reservation_id, now } = made;
  const { plan, mm_lite, rate_per_second: _rate, ...fields } = order;
  await tx
    .insertInto("chat_campaigns")
    .values({
      ...fields,
      account_id: actor.account_id,
      id: campaign_id,
      plan: JSON.stringify(plan),
      mm_lite: JSON.stringify(mm_lite),
      trimmed: JSON.stringify(made.trimmed),
      state,
      total,
      reservation_id,
      work_at: order.scheduled_at ?? now,
      created_by: actor.user_id,
      created_at: now,
      started_at: order.scheduled_at ? null : now,
    })
    .execute();
}
