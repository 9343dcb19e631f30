// Validates a campaign's fields against its account: the chat number, the message and the start
// time.
import type { Kysely } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import type { DB } from "../../lib/database/database.ts";
import { Refusal, invalid, type FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { parseTime } from "../../lib/parse-time.ts";
import { readStart } from "../../lib/read-start.ts";
import type { CampaignHead, MmLite } from "./chat-campaign-schema.ts";
import { findMessage, type CampaignMessage } from "./internal/find-message.ts";
import type { MessagePlan } from "../messages/message-plan.ts";

/** A campaign with valid fields. */
export type CampaignOrder = {
  readonly name: string;
  readonly chat_number_id: number;
  readonly rate_per_second: number;
  /** Also the template that a flow opens with: its holds apply to the campaign. */
  readonly template_id: number | null;
  readonly flow_id: number | null;
  readonly automation_flow_id: string | null;
  readonly plan: MessagePlan;
  /** Null: now. */
  readonly scheduled_at: Date | null;
  readonly mm_lite: MmLite;
};

/**
 * Reports an invalid time, which the schema does not detect; `head` may have any shape. An empty text
 * is not a time: the contract lets a campaign start now only if the field is omitted or null.
 */
export function campaignTimeViolations(head: unknown): FieldError[] {
  const { scheduled_at: text } = (head ?? {}) as { scheduled_at?: unknown };
  if (typeof text !== "string") return [];
  const time = parseTime(text, "UTC");
  return typeof time === "string" ? [{ field: "scheduled_at", reason: time }] : [];
}

/**
 * Validates a campaign. Errors, in the contract's order: bad-request unless exactly one message is
 * named and there are recipients; validation-failed with every invalid number, message and time.
 */
export async function validateCampaign(
  db: Kysely<DB>,
  account: Pick<Caller["account"], "id" | "time_zone">,
  head: CampaignHead,
  {
    has_recipients,
    source_violations = [],
    now,
  }: {
    readonly has_recipients: boolean;
    /** Violations of the recipient source, reported with the others. */
    readonly source_violations?: readonly FieldError[];
    readonly now: Date;
  },
): Promise<CampaignOrder> {
  const { template_id = null, flow_id = null, automation_flow_id = null } = head;
  const named = [template_id, flow_id, automation_flow_id].filter((one) => one !== null);
  if (named.length !== 1)
    throw new Refusal(
      "bad-request",
      "Exactly one of template_id, flow_id and automation_flow_id must be given",
    );
  if (!has_recipients) throw new Refusal("bad-request", "The campaign has no contacts");

  const number = await findNumber(db, account.id, head.chat_number_id);
  const scheduled_at = readStart(head.scheduled_at ?? "", account.time_zone, now);
  const message = await findMessage(
    db,
    account.id,
    { template_id, flow_id, automation_flow_id },
    number,
    scheduled_at instanceof Date ? scheduled_at : now,
  );
  const violations: FieldError[] = [];
  if (!number)
    violations.push({
      field: "chat_number_id",
      reason: "is not an active chat number of this account",
    });
  if ("reason" in message) violations.push(message);
  if (typeof scheduled_at === "string")
    violations.push({ field: "scheduled_at", reason: scheduled_at });
  violations.push(...source_violations);
  if (source_violations.length > 0) throw invalid(violations);
  if (!number || "reason" in message || typeof scheduled_at === "string") throw invalid(violations);
  return {
    name: head.name,
    chat_number_id: number.id,
    rate_per_second: number.rate_per_second,
    template_id: message.template_id,
    flow_id,
    automation_flow_id,
    plan: message.plan,
    scheduled_at,
    mm_lite: routeOf(head.mm_lite === true, message, number.marketing_onboarded),
  };
}

function findNumber(db: Kysely<DB>, accountId: number, numberId: number) {
  return db
    .selectFrom("chat_numbers")
    .select(["id", "driver", "business_account_id", "rate_per_second", "marketing_onboarded"])
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(numberId))
    .where("active", "=", true)
    .executeTakeFirst();
}

/**
 * Decides the marketing route. It is used if it is requested and the message and number allow it;
 * `reason` says why a requested route is not used.
 */
function routeOf(requested: boolean, { plan }: CampaignMessage, onboarded: boolean): MmLite {
  const reason =
    plan.kind !== "template"
      ? "no_template"
      : plan.category !== "MARKETING"
        ? "template_not_marketing"
        : onboarded
          ? null
          : "number_not_onboarded";
  const used = requested && reason === null;
  return { requested, used, reason: requested ? reason : null };
}
