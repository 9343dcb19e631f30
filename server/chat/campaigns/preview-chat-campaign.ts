// Previews a campaign's recipients, cost and estimated finish without creating anything.
import { sql, type Kysely } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import { messageOutreach, suppressedAmong } from "../../audience/suppressions/suppressions.ts";
import { availableCredits } from "../../credits/credits.ts";
import type { App } from "../../engine/app.ts";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import type { CampaignHead, CampaignPreview } from "./chat-campaign-schema.ts";
import { noValidContacts } from "./intake/no-valid-contacts.ts";
import { findLinkedDuplicates } from "./intake/find-linked-duplicates.ts";
import type { RecipientRows } from "./intake/gather-recipients.ts";
import { samples_max } from "./intake/recipient-format.ts";
import { validateCampaign } from "./validate-campaign.ts";
import { categoryOf, type MessagePlan } from "../messages/message-plan.ts";
import { renderMessage } from "../messages/render-message.ts";

/**
 * Previews a campaign whose recipients were prepared as a list. Errors: as createChatCampaign,
 * except that insufficient credit is part of the result.
 */
export async function previewChatCampaign(
  app: App,
  account: Caller["account"],
  {
    head,
    has_recipients,
    recipients,
    source_violations = [],
  }: {
    readonly head: CampaignHead;
    readonly has_recipients: boolean;
    readonly recipients: RecipientRows;
    /** Violations of where the recipients come from. */
    readonly source_violations?: readonly FieldError[];
  },
): Promise<CampaignPreview> {
  const now = app.clock.now();
  const db = app.db.query;
  const order = await validateCampaign(db, account, head, {
    has_recipients,
    source_violations,
    now,
  });
  const { rejects, valid, invalid } = recipients;
  const linked = await findLinkedDuplicates(db, account.id, recipients);
  const rows = recipients.rows.filter(({ phone }) => !linked.has(phone));
  const phones = rows.map(({ phone }) => phone);
  const outreach = messageOutreach(categoryOf(order.plan));
  const suppressed = await suppressedAmong(db, account.id, outreach, phones, now);
  const needed = valid - linked.size - suppressed.size;
  const duplicate = recipients.duplicate + linked.size;
  const trimmed = { invalid, duplicate, blacklisted: suppressed.size };
  if (needed === 0) throw noValidContacts(trimmed);

  const shown = rows.filter(({ phone }) => !suppressed.has(phone)).slice(0, messages_shown);
  const samples = shown.map((row) => sampleOf(order.plan, row));
  const reasons = rejects.reasons as readonly ("invalid" | "duplicate")[];
  const left_out = [
    ...rejects.values.map((phone_number, i) => ({ phone_number, reason: reasons[i]! })),
    ...Array.from(linked, (phone_number) => ({ phone_number, reason: "duplicate" as const })),
    ...phones
      .filter((phone) => suppressed.has(phone))
      .map((phone_number) => ({ phone_number, reason: "blacklisted" as const })),
  ];
  const available = await availableCredits(db, account.id, "chat");
  const starts_at = order.scheduled_at ?? now;
  const waiting = await waitingOn(db, account.id, order.chat_number_id);
  const rate = order.rate_per_second;
  const busy_until_ms = now.getTime() + (waiting / rate) * 1_000;
  const begins_ms = Math.max(starts_at.getTime(), busy_until_ms);
  return {
    total_contacts: needed,
    trimmed,
    trimmed_samples: left_out.slice(0, samples_max),
    credits: { needed, available, sufficient: available >= needed },
    mm_lite: order.mm_lite,
    starts_at: starts_at.toISOString(),
    finishes_at: new Date(begins_ms + Math.ceil((needed / rate) * 1_000)).toISOString(),
    sample: samples[0]!,
    samples,
  };
}

const messages_shown = 3;

/** A preview keeps the variables of this many recipients, because those of a million would fill the memory. */
export const kept_variables = 1_000;

/** Renders a recipient's message as it would be sent. */
function sampleOf(
  plan: MessagePlan,
  { phone, variables }: { readonly phone: string; readonly variables: string | null },
): CampaignPreview["sample"] {
  const values = JSON.parse(variables ?? "null") as Record<string, string> | null;
  const rendered = renderMessage(plan, values, "preview");
  return {
    phone_number: phone,
    message: "message" in rendered ? rendered.message : null,
    missing: "missing" in rendered ? [...rendered.missing] : [],
  };
}

/** Messages that a number still has to send. */
async function waitingOn(db: Kysely<DB>, accountId: number, numberId: number): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    select coalesce(sum(n.queued + n.deferred + n.dispatching), 0)::bigint as waiting
    from chat_campaigns c
    join chat_counts n on n.account_id = c.account_id and n.campaign_id = c.id
    where c.account_id = ${accountId} and n.account_id = ${accountId}
      and c.chat_number_id = ${numberId} and c.state = 'running'`.execute(db);
  return rows[0]!.waiting;
}
