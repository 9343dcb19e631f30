import type {
  TemplateCategory,
  TemplateQuality,
  TemplateStatus,
} from "../../drivers/chat/driver.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { hold, liftHold, type Lifted } from "../holds/holds.ts";

/** What is news of a template; what is left out stays. */
export type TemplateNews = {
  readonly status?: TemplateStatus;
  /** Why it has that status, in the provider's words; goes when the next status has none. */
  readonly reason?: string | null;
  readonly quality?: TemplateQuality;
  readonly category?: TemplateCategory;
};

/**
 * Keeps what a provider says of a template, with an event when that changes anything. A template that
 * may not be sent holds its campaigns, once it is approved again they go on. Returns the numbers to
 * notification `chat_work` for after the commit. An unknown template is no matter.
 */
export async function setTemplateStatus(
  tx: Tx,
  { account_id, template_id }: { readonly account_id: number; readonly template_id: number },
  news: TemplateNews,
  now: Date,
): Promise<{ readonly changed: boolean; readonly number_ids: readonly number[] }> {
  const template = await tx
    .selectFrom("chat_templates")
    .select(["name", "language", "status", "quality", "category", "rejection_reason"])
    .where("account_id", "=", account_id)
    .where("id", "=", template_id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!template) return { changed: false, number_ids: [] };
  const { name, language, ...before } = template;
  const after = {
    status: news.status ?? before.status,
    quality: news.quality ?? before.quality,
    category: news.category ?? before.category,
    rejection_reason: reasonAfter(before.rejection_reason, news),
  };
  const changed = Object.entries(after).some(
    ([key, value]) => value !== before[key as keyof typeof before],
  );
  if (changed) {
    await tx
      .updateTable("chat_templates")
      .set({ ...after, updated_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", template_id)
      .execute();
    await recordEvent(tx, {
      account_id,
      type: "chat.template.updated",
      occurred_at: now,
      data: { template_id, name, language, ...after },
    });
  }
  const { number_ids } = await settleHold(tx, { account_id, template_id }, news, now);
  return { changed, number_ids };
}

function reasonAfter(before: string | null, { status, reason }: TemplateNews): string | null {
  if (status === undefined) return reason ?? before;
  return status === "APPROVED" ? null : (reason ?? null);
}

/** Also when the status is no news: a hold may have been lifted by hand while its cause was there. */
async function settleHold(
  tx: Tx,
  { account_id, template_id }: { readonly account_id: number; readonly template_id: number },
  { status, reason }: TemplateNews,
  now: Date,
): Promise<Pick<Lifted, "number_ids">> {
  const held = {
    account_id,
    scope: "template",
    subject_id: template_id,
    reason: "template_paused",
  } as const;
  switch (status) {
    case "PAUSED":
    case "DISABLED":
    case "REJECTED":
      await hold(tx, { ...held, detail: reason ?? status }, now);
      return { number_ids: [] };
    case "APPROVED":
      return liftHold(tx, held, now);
    default:
      return { number_ids: [] };
  }
}
