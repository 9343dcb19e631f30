// The effects of a failed message beyond its recipient: holds, failed campaigns, opt-outs, the route, a sync.
// The response of the provider and a delivery status have the same effects.
import { sql } from "kysely";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import { addJob } from "../../engine/add-job.ts";
import { identityOf } from "../../lib/bsuid.ts";
import type { Tx } from "../../lib/database/database.ts";
import { failCampaign } from "../campaigns/fail-campaign.ts";
import { hold, type HoldReason, type HoldScope } from "../holds/holds.ts";
import type { Action } from "../messages/error-actions.ts";
import { scheduleTemplateSync } from "../numbers/schedule-template-sync.ts";
import { setTemplateStatus } from "../templates/set-template-status.ts";
import { optOutAtProvider } from "./internal/opt-out-at-provider.ts";

export type FailureEffect =
  | {
      readonly kind: "hold";
      readonly scope: HoldScope | "business_account";
      /** The number, if the scope is its business account. */
      readonly subject_id: number;
      readonly reason: HoldReason;
      readonly detail: string | null;
      /** Null: until it is lifted. */
      readonly ends_at: Date | null;
      /** When the provider refused the message, if a status reports it. */
      readonly at?: Date;
    }
  | { readonly kind: "fail_campaign"; readonly campaign_id: number; readonly failure: string }
  | { readonly kind: "marketing_route"; readonly campaign_id: number }
  | { readonly kind: "refresh_templates"; readonly chat_number_id: number }
  | { readonly kind: "suppress"; readonly phone: string; readonly chat_number_id: number };

/** The message that failed. */
export type FailedMessage = {
  /** Null: outside of any campaign. */
  readonly campaign_id: number | null;
  readonly template_id: number | null;
  readonly chat_number_id: number;
  readonly phone: string;
  /** The provider's error code. */
  readonly code: number | null;
  /** The time of the status that reports the failure; omitted for a response. */
  readonly at?: Date;
};

/** Returns the detail of a hold that a message with this error set. */
function failureDetail(code: number): string {
  return `The provider returned error ${code}`;
}

/** The details of holds that a message set because its business account is banned or restricted. */
export const restriction_details: readonly string[] = [368, 131031].map(failureDetail);

/** How long the provider may apply a restriction after its end by our clock. */
const late_restriction_ms = 3_600_000;
const retry_restricted_ms = 300_000;

/** Returns the effects of a failure. */
export function failureEffects(
  { campaign_id, template_id, chat_number_id, phone, code, at }: FailedMessage,
  action: Action,
  now: Date,
): FailureEffect[] {
  const effects: FailureEffect[] = [];
  if (action.hold) {
    const { scope, reason, for_ms } = action.hold;
    const subject_id = scope === "template" ? template_id : chat_number_id;
    const detail = code === null ? null : failureDetail(code);
    const ends_at = for_ms === undefined ? null : wholeSecond(now.getTime() + for_ms);
    if (subject_id !== null)
      effects.push({ kind: "hold", scope, subject_id, reason, detail, ends_at, ...(at && { at }) });
  }
  if (campaign_id !== null && action.fail_campaign)
    effects.push({ kind: "fail_campaign", campaign_id, failure: action.error });
  if (campaign_id !== null && action.marketing_route)
    effects.push({ kind: "marketing_route", campaign_id });
  if (action.refresh_templates) effects.push({ kind: "refresh_templates", chat_number_id });
  if (action.suppress) effects.push({ kind: "suppress", phone, chat_number_id });
  return effects;
}

/** Rounds up, so that messages that fail together have one effect. */
function wholeSecond(time_ms: number): Date {
  return new Date(Math.ceil(time_ms / 1_000) * 1_000);
}

/** Returns each distinct effect once, with its latest time. */
export function distinctEffects(effects: readonly FailureEffect[]): FailureEffect[] {
  const distinct = new Map<string, FailureEffect>();
  for (const effect of effects) {
    const key = JSON.stringify({ ...effect, at: undefined });
    const known = distinct.get(key);
    if (!known || timeOf(effect) > timeOf(known)) distinct.set(key, effect);
  }
  return [...distinct.values()];
}

function timeOf(effect: FailureEffect): number {
  return (effect.kind === "hold" && effect.at?.getTime()) || 0;
}

/** Applies an effect; applying it again changes nothing. */
export async function applyFailureEffect(
  tx: Tx,
  account_id: number,
  effect: FailureEffect,
  now: Date,
): Promise<void> {
  switch (effect.kind) {
    case "hold":
      return holdBack(tx, account_id, effect, now);
    case "fail_campaign":
      return failCampaign(tx, account_id, effect.campaign_id, effect.failure, now);
    case "marketing_route":
      return useMarketingRoute(tx, account_id, effect.campaign_id, now);
    case "refresh_templates":
      return refreshTemplates(tx, account_id, effect.chat_number_id, now);
    case "suppress": {
      const { phone, chat_number_id } = effect;
      const reason = "The provider says that this customer opted out";
      const person = identityOf(phone);
      const customer = { account_id, person, chat_number_id };
      return optOutAtProvider(tx, customer, reason, { at: now, now });
    }
  }
}

/**
 * Holds a template as if the provider's webhook had arrived first: it is shown as paused. A failure from before a
 * person lifted the hold, or before the number's last ban, restriction or reinstatement, holds nothing.
 */
async function holdBack(
  tx: Tx,
  account_id: number,
  { scope, subject_id, reason, detail, ends_at, at }: FailureEffect & { kind: "hold" },
  now: Date,
): Promise<void> {
  if (reason === "template_paused") {
    const template = { account_id, template_id: subject_id };
    await setTemplateStatus(tx, template, { status: "PAUSED", ...(at && { at }) }, now);
    return;
  }
  if (scope !== "number" && scope !== "business_account") {
    await hold(tx, { account_id, scope, subject_id, reason, detail, ends_at }, now);
    return;
  }
  const isRestriction = detail !== null && restriction_details.includes(detail);
  for (const number of await numbersOfSameAccount(tx, account_id, subject_id)) {
    if (scope === "number" && number.id !== subject_id) continue;
    const until = isRestriction ? number.restricted_until : null;
    if (at && isOver(number, reason, at)) continue;
    if (at && until !== null && until <= now && isBefore(at, until)) continue;
    const end = ends_at ?? restrictionEnd(until, now);
    const held = { account_id, scope: "number", subject_id: number.id, reason, detail } as const;
    await hold(tx, { ...held, ends_at: end }, now);
    if (end === null) continue;
    const kind = ends_at ? "chat.end_throttling" : "chat.end_restriction";
    await addJob(tx, { account_id, kind, subject: String(number.id), run_at: end }, now);
  }
}

/** Returns whether what a failure at this time would set was ended or reported otherwise since. */
function isOver(number: HeldNumber, reason: HoldReason, at: Date): boolean {
  const lifted_at: Partial<Record<HoldReason, Date | null>> = {
    sender_restricted: number.restriction_lifted_at,
    auth: number.auth_lifted_at,
  };
  return isBefore(at, number.standing_at) || isBefore(at, lifted_at[reason] ?? null);
}

/** Returns whether an event was before a time; events are dated in whole seconds. */
export function isBefore(at: Date, time: Date | null): boolean {
  return time !== null && at.getTime() < Math.floor(time.getTime() / 1_000) * 1_000;
}

/** The end of the reported restriction, or a retry if it has just ended; null if none explains the refusal. */
function restrictionEnd(until: Date | null, now: Date): Date | null {
  if (until === null || now.getTime() - until.getTime() > late_restriction_ms) return null;
  return until > now ? until : wholeSecond(now.getTime() + retry_restricted_ms);
}

type HeldNumber = {
  readonly id: number;
  readonly restricted_until: Date | null;
  readonly standing_at: Date | null;
  readonly restriction_lifted_at: Date | null;
  readonly auth_lifted_at: Date | null;
};

/**
 * Returns the account's numbers of the same business account and driver, in the order of locks. Locked, so that a hold
 * that is being lifted is seen as lifted.
 */
function numbersOfSameAccount(
  tx: Tx,
  accountId: number,
  numberId: number,
): Promise<readonly HeldNumber[]> {
  return tx
    .selectFrom("chat_numbers as n")
    .innerJoin("chat_numbers as o", (on) =>
      on
        .onRef("o.account_id", "=", "n.account_id")
        .onRef("o.driver", "=", "n.driver")
        .onRef("o.business_account_id", "=", "n.business_account_id"),
    )
    .select(["o.id", "o.restricted_until", "o.standing_at"])
    .select(["o.restriction_lifted_at", "o.auth_lifted_at"])
    .where("n.account_id", "=", accountId)
    .where("n.id", "=", numberId)
    .orderBy("o.id")
    .forShare("o")
    .execute();
}

/** Many messages that fail one after the other cause one sync a minute. */
const refresh_after_ms = 60_000;

async function refreshTemplates(tx: Tx, accountId: number, numberId: number, now: Date) {
  const business = await tx
    .selectFrom("chat_numbers")
    .select(["account_id", "driver", "business_account_id"])
    .where("account_id", "=", accountId)
    .where("id", "=", numberId)
    .executeTakeFirst();
  if (!business) return;
  const driver = business.driver as ChatDriverName;
  const run_at = new Date(now.getTime() + refresh_after_ms);
  await scheduleTemplateSync(tx, { ...business, driver }, now, run_at);
}

/**
 * Stored, so that the next sender of the number takes the route too, even if our category of the template is old. A
 * category that is reported later ends the requirement.
 */
async function useMarketingRoute(
  tx: Tx,
  accountId: number,
  campaignId: number,
  now: Date,
): Promise<void> {
  const required = { used: true, reason: null, required: true, required_at: now };
  await sql`
    update chat_campaigns c
    set mm_lite = (c.mm_lite::jsonb || ${JSON.stringify(required)}::jsonb)::json
    from chat_numbers n
    where c.account_id = ${accountId} and c.id = ${campaignId} and n.account_id = c.account_id
      and n.id = c.chat_number_id and n.marketing_onboarded`.execute(tx);
}
