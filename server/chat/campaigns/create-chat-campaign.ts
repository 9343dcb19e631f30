// Creates a campaign and submits it (contract 4.2): its recipients, its credit and its events in one
// transaction. It is never a draft.
import { sql } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { Recipient } from "../../audience/intake/open-intake.ts";
import type { IntakeSummary, RecipientSource } from "../../audience/recipients/recipient-source.ts";
import {
  writeWithRecipients,
  type CampaignWrites,
  type RecipientTarget,
} from "../../audience/recipients/write-with-recipients.ts";
import { messageOutreach } from "../../audience/suppressions/suppressions.ts";
import { reserveCredits } from "../../credits/reserve-credits.ts";
import { addJob } from "../../engine/add-job.ts";
import type { App } from "../../engine/app.ts";
import type { EventData } from "../../engine/event-catalogue.ts";
import { recordEvents, type NewEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, invalidField, type FieldError } from "../../lib/errors.ts";
import { describeSpan } from "../../lib/tracing/tracing.ts";
import type { CampaignHead, ChatCampaignResponse } from "./chat-campaign-schema.ts";
import { categoryOf } from "../messages/message-plan.ts";
import { recordHeldStart } from "../holds/holds.ts";
import { planMismatch } from "../messages/plan-mismatch.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";
import { plannedTemplateOf, template_columns } from "../templates/template-schema.ts";
import {
  affordableRecipients,
  insufficientCredit,
  recipientsMin,
} from "./intake/affordable-recipients.ts";
import { openBodySource } from "./intake/gather-recipients.ts";
import { noValidContacts } from "./intake/no-valid-contacts.ts";
import { chat_format, prefixOf } from "./intake/recipient-format.ts";
import {
  insertRecipients,
  removeLinkedDuplicates,
  removeSuppressed,
} from "./intake/store-recipients.ts";
import { scheduleSkipDuplicates, skipDuplicatePeople } from "./skip-duplicate-people.ts";
import { validateCampaign, type CampaignOrder } from "./validate-campaign.ts";
import type { CampaignBody } from "./intake/read-body.ts";

/** The account and user that create the campaign. */
export type CampaignOwner = {
  readonly account: Caller["account"];
  readonly actor: UserActor;
};

/**
 * Creates a campaign from a JSON body. Errors, in the contract's order and with nothing created:
 * bad-request, validation-failed, insufficient-credit; unavailable when too many large campaigns
 * wait.
 */
export async function createChatCampaign(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  { head, sent, recipients }: CampaignBody & { readonly head: CampaignHead },
): Promise<ChatCampaignResponse> {
  const now = app.clock.now();
  const has_recipients = sent > 0;
  const order = await validateCampaign(app.db.query, owner.account, head, { has_recipients, now });
  const { valid } = recipients;
  if (valid === 0) throw noValidContacts(recipients);
  const affordable = await affordableRecipients(app.db.query, owner.account.id, valid, now);
  if (recipientsMin(recipients) > affordable) throw insufficientCredit();
  return submitCampaign(app, owner, writes, { order, source: openBodySource(recipients), now });
}

/** A validated campaign and where its recipients come from. */
type Submission = {
  readonly order: CampaignOrder;
  readonly source: RecipientSource<Recipient>;
  readonly now: Date;
};

/** Stores a campaign with its recipients. Errors: as createChatCampaign. */
export async function submitCampaign(
  app: App,
  { actor }: CampaignOwner,
  writes: CampaignWrites,
  { order, source, now }: Submission,
): Promise<ChatCampaignResponse> {
  const { account_id } = actor;
  const key = { account_id, campaign_id: await nextCampaignId(app) };
  describeSpan({ "trunkline.campaign.id": key.campaign_id });
  const target: RecipientTarget<Recipient> = {
    copy_sql: chat_format.copy_sql,
    prefix: prefixOf(key),
    insert: (tx, recipients) => insertRecipients(tx, key, recipients),
  };
  let bsuids = 0;
  const answer = await writeWithRecipients(writes, source, target, (tx, store) =>
    writeCampaign(tx, actor, { key, order, now }, async () => {
      const stored = await store();
      ({ bsuids } = stored);
      return stored;
    }),
  );
  // Links may have been recorded since the transaction read them.
  if (bsuids > 0) await skipDuplicatePeople(app, key);
  wakeSenders(app, account_id, [order.chat_number_id]);
  return answer;
}

/**
 * Stores the campaign. The reservation comes last, because it locks the balance that every campaign
 * of the account needs. Errors: bad-request without recipients; insufficient-credit.
 */
async function writeCampaign(
  tx: Tx,
  actor: CampaignOwner["actor"],
  { key, order, now }: { readonly key: CampaignKey } & Pick<Submission, "order" | "now">,
  store: () => Promise<IntakeSummary>,
): Promise<ChatCampaignResponse> {
  const { account_id, campaign_id } = key;
  await lockNumberAndTemplate(tx, account_id, order);
  const { valid, invalid: impossible, duplicate: repeated, bsuids } = await store();
  const linked = bsuids > 0 ? await removeLinkedDuplicates(tx, key) : 0;
  const stored = valid - linked;
  const { is_marketing } = messageOutreach(categoryOf(order.plan));
  const blacklisted = await removeSuppressed(tx, key, { stored, is_marketing }, now);
  const total = stored - blacklisted;
  const trimmed = { invalid: impossible, duplicate: repeated + linked, blacklisted };
  if (total === 0) throw noValidContacts(trimmed);
  await tx
    .insertInto("chat_counts")
    .values({ ...key, slot: "controls", queued: total })
    .execute();
  const { scheduled_at } = order;
  const state = scheduled_at ? "scheduled" : "running";
  if (scheduled_at) {
    const subject = String(campaign_id);
    const job = { account_id, kind: "chat.start_campaign", subject, run_at: scheduled_at } as const;
    await addJob(tx, job, now);
  }
  if (bsuids > 0) await scheduleSkipDuplicates(tx, key, now);
  await recordEvents(tx, eventsFor(key, order, { total, trimmed }, now));
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_campaign.created",
    subject_id: campaign_id,
    detail: { total },
  });
  // Before the balance: a change of the template may wait for campaigns, whose transactions lock the balance last.
  await refuseChangedTemplate(tx, account_id, order);
  if (!scheduled_at) await recordHeldStart(tx, account_id, { ...order, id: campaign_id }, now);
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

/** Records the creation, and the start unless the campaign is scheduled. */
function eventsFor(
  { account_id, campaign_id }: CampaignKey,
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

/** Locks number and template until the commit: their deletion checks for campaigns. */
async function lockNumberAndTemplate(
  tx: Tx,
  accountId: number,
  order: CampaignOrder,
): Promise<void> {
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

/**
 * Locks the template until the commit. Throws validation-failed when the plan no longer fits it: it may have changed
 * since the plan was made, and a sync does not see a campaign before its commit.
 */
async function refuseChangedTemplate(
  tx: Tx,
  accountId: number,
  { template_id, plan }: CampaignOrder,
): Promise<void> {
  if (template_id === null || plan.kind !== "template") return;
  const template = await tx
    .selectFrom("chat_templates")
    .select(template_columns)
    .where("account_id", "=", accountId)
    .where("id", "=", template_id)
    .forShare()
    .executeTakeFirstOrThrow();
  const mismatch = planMismatch(plan, plannedTemplateOf(template));
  if (mismatch !== null) throw invalidField("template_id", `was just changed: ${mismatch}`);
}

/**
 * Allocates the ID from the sequence before the campaign is written: the recipients refer to it,
 * and the row of the campaign is inserted last.
 */
async function nextCampaignId({ db }: Pick<App, "db">): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('chat_campaigns', 'id')) as id`.execute(db.query);
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
      report_counted: true,
    })
    .execute();
}
