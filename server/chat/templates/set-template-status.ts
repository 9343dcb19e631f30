import type {
  ChatDriverName,
  TemplateCategory,
  TemplateQuality,
  TemplateStatus,
} from "../../drivers/chat/driver.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { hold, liftHold } from "../holds/holds.ts";
import { held_template_sync_ms, scheduleTemplateSync } from "../numbers/schedule-template-sync.ts";
import { revalidateCampaignsOf } from "./revalidate-campaigns.ts";

/** A change of a template; omitted fields are unchanged. */
export type TemplateChange = {
  readonly status?: TemplateStatus;
  /** The provider's reason for the status; cleared by the next status without one. */
  readonly reason?: string | null;
  readonly quality?: TemplateQuality;
  readonly category?: TemplateCategory;
  /** The event's time: values that are older than the last event's are ignored. */
  readonly at?: Date;
  /** Without an event: when the provider was asked. Older values are ignored as well. */
  readonly asked_at?: Date;
};

/**
 * Stores the provider's values of a template and records an event when they change. A template that
 * may not be sent holds its campaigns, and is soon fetched if it may be approved again. An approval in a response
 * releases those that fit its stored content; an event does not, because the template may have been edited. Returns the
 * numbers to notify on `chat_work` after the commit. Ignores an unknown template.
 */
export async function setTemplateStatus(
  tx: Tx,
  { account_id, template_id }: { readonly account_id: number; readonly template_id: number },
  reported: TemplateChange,
  now: Date,
): Promise<{ readonly changed: boolean; readonly number_ids: readonly number[] }> {
  const template = await tx
    .selectFrom("chat_templates")
    .select(["name", "language", "status", "quality", "category", "rejection_reason"])
    .select(["status_at", "quality_at", "category_at", "driver", "business_account_id"])
    .select("pause_lifted_at")
    .where("account_id", "=", account_id)
    .where("id", "=", template_id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!template) return { changed: false, number_ids: [] };
  const { name, language, status_at, quality_at, category_at, pause_lifted_at, ...rest } = template;
  const { driver, business_account_id, ...before } = rest;
  const times = { status: status_at, quality: quality_at, category: category_at };
  const change = withoutOlder(reported, times);
  const after = {
    status: change.status ?? before.status,
    quality: change.quality ?? before.quality,
    category: change.category ?? before.category,
    rejection_reason: reasonAfter(before.rejection_reason, change),
  };
  const changed = Object.entries(after).some(
    ([key, value]) => value !== before[key as keyof typeof before],
  );
  if (changed || reported.at)
    await tx
      .updateTable("chat_templates")
      .set({
        ...after,
        ...timesAfter(before, change, now),
        ...(changed ? { updated_at: now } : {}),
      })
      .where("account_id", "=", account_id)
      .where("id", "=", template_id)
      .execute();
  if (changed)
    await recordEvent(tx, {
      account_id,
      type: "chat.template.updated",
      occurred_at: now,
      data: { template_id, name, language, ...after },
    });
  const template_key = { account_id, template_id };
  const isNew = change.status !== before.status;
  const { at } = reported;
  // A repeated webhook does not set the hold again that a person has lifted since.
  const isLifted = at && pause_lifted_at && secondsOf(at) < secondsOf(pause_lifted_at);
  const isHeld = !isLifted && (await setHold(tx, template_key, { ...change, isNew }, now));
  // The webhook of its approval may be lost.
  if (isAwaited(change) && (isNew || isHeld)) {
    const business = { account_id, driver: driver as ChatDriverName, business_account_id };
    const run_at = new Date(now.getTime() + held_template_sync_ms);
    await scheduleTemplateSync(tx, business, now, run_at);
  }
  // Also when an event is dated later than the response, by the provider's clock.
  const isApproved = reported.status === "APPROVED" && after.status === "APPROVED";
  if (reported.asked_at === undefined || !isApproved) return { changed, number_ids: [] };
  return { changed, number_ids: await release(tx, template_key, now) };
}

type Times = Readonly<Record<"status" | "quality" | "category", Date | null>>;

/**
 * Returns the values that are not older than the known ones. Events are dated in whole seconds, responses
 * are not: within one second, what arrives later counts.
 */
function withoutOlder(
  { at, asked_at, status, reason, quality, category }: TemplateChange,
  known: Times,
): TemplateChange {
  const of = at ?? asked_at;
  const isOlder = (time: Date | null) =>
    of !== undefined && time !== null && secondsOf(of) < secondsOf(time);
  return {
    ...(at === undefined ? {} : { at }),
    ...(asked_at === undefined ? {} : { asked_at }),
    ...(status === undefined || isOlder(known.status) ? {} : { status }),
    ...(reason === undefined || isOlder(known.status) ? {} : { reason }),
    ...(quality === undefined || isOlder(known.quality) ? {} : { quality }),
    ...(category === undefined || isOlder(known.category) ? {} : { category }),
  };
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1_000);
}

/** Returns the new times. A value without an event is dated only when it differs. */
function timesAfter(
  before: Readonly<Record<keyof Times, string>>,
  change: TemplateChange,
  now: Date,
) {
  const time = change.at ?? change.asked_at ?? now;
  const isDated = (key: keyof Times) =>
    change[key] !== undefined && (change.at !== undefined || change[key] !== before[key]);
  return {
    ...(isDated("status") ? { status_at: time } : {}),
    ...(isDated("quality") ? { quality_at: time } : {}),
    ...(isDated("category") ? { category_at: time } : {}),
  };
}

function reasonAfter(before: string | null, { status, reason }: TemplateChange): string | null {
  if (status === undefined) return reason ?? before;
  return status === "APPROVED" ? null : (reason ?? null);
}

type TemplateKey = { readonly account_id: number; readonly template_id: number };

const holdOf = ({ account_id, template_id }: TemplateKey) =>
  ({ account_id, scope: "template", subject_id: template_id, reason: "template_paused" }) as const;

function isAwaited({ status }: TemplateChange): boolean {
  return status === "PENDING" || status === "PAUSED";
}

/**
 * Holds a template that may not be sent, also when its status is unchanged, because a hold may have been lifted by hand
 * while its cause remains. Returns whether it was not held before.
 */
async function setHold(
  tx: Tx,
  key: TemplateKey,
  { status, reason, isNew }: TemplateChange & { readonly isNew: boolean },
  now: Date,
): Promise<boolean> {
  if (status === undefined || status === "APPROVED") return false;
  if (status !== "PENDING") return hold(tx, { ...holdOf(key), detail: reason ?? status }, now);
  // An edited template is reviewed again. A new one has no campaigns yet.
  return isNew && hold(tx, { ...holdOf(key), detail: "is being reviewed" }, now);
}

/** Lifts the template's hold, once the campaigns that do not fit its content have a hold of their own. */
async function release(tx: Tx, key: TemplateKey, now: Date): Promise<readonly number[]> {
  const fitting = await revalidateCampaignsOf(tx, key, now);
  const { number_ids } = await liftHold(tx, holdOf(key), now);
  return [...new Set([...fitting, ...number_ids])];
}
