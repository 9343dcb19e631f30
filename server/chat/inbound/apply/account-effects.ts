// Applies what the provider reports about templates and business accounts. Events arrive repeatedly and in any order:
// one that is older than the last applied has no effect.
import { sql } from "kysely";
import { addJob } from "../../../engine/add-job.ts";
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import { hold } from "../../holds/holds.ts";
import { scheduleTemplateSync } from "../../numbers/schedule-template-sync.ts";
import { statement } from "../../../lib/database/database.ts";
import { endRestriction } from "../end-restriction.ts";
import { isBefore, restriction_details } from "../failure-effects.ts";
import { setTemplateStatus } from "../../templates/set-template-status.ts";
import type { EffectContext } from "./effect-context.ts";
import type { SideEffect } from "./sort-webhooks.ts";

/**
 * Finds the template by the provider's ID, or else by name and language, and stores the change. After an edit or an
 * approval, its content is fetched; only then are its campaigns released.
 */
export async function applyTemplateChange(
  context: EffectContext,
  event: Extract<SideEffect, { kind: "template" }>,
): Promise<void> {
  const { tx, account_id, now } = context;
  const { provider_template_id, name, language, at, business_account_id, ...reported } = event;
  const { content_changed = false, ...change } = reported;
  const templates = tx
    .selectFrom("chat_templates")
    .select(["id", "driver", "business_account_id"])
    .where("account_id", "=", account_id)
    .orderBy("id");
  const byId =
    provider_template_id === null
      ? []
      : await templates.where("provider_template_id", "=", provider_template_id).execute();
  const found =
    byId.length > 0 || name === null || language === null
      ? byId
      : await templates
          .where("business_account_id", "=", business_account_id ?? "")
          .where("name", "=", name)
          .where("language", "=", language)
          .execute();
  for (const { id, ...of } of found) {
    const template = { account_id, template_id: id };
    const dated = { ...change, ...(at === null ? {} : { at }) };
    await setTemplateStatus(tx, template, dated, now);
    if (!content_changed && change.status !== "APPROVED") continue;
    const business = { account_id, ...of, driver: of.driver as ChatDriverName };
    await scheduleTemplateSync(tx, business, now);
  }
}

/** Has the numbers of the business account fetched. */
export async function applyNumberChange(
  { tx, account_id, now }: EffectContext,
  event: Extract<SideEffect, { kind: "number" }>,
): Promise<void> {
  const number = await tx
    .selectFrom("chat_numbers")
    .select(["driver", "business_account_id"])
    .where("account_id", "=", account_id)
    .where("business_account_id", "=", event.business_account_id ?? "")
    .limit(1)
    .executeTakeFirst();
  if (!number) return;
  const business = { account_id, ...number, driver: number.driver as ChatDriverName };
  await scheduleTemplateSync(tx, business, now);
}

/**
 * Holds the numbers of a business account that may not send, until the restriction ends, or releases them. A ban without
 * an end stays until the account is reinstated, also when a restriction with an end follows.
 */
export async function applyStanding(
  context: EffectContext,
  event: Extract<SideEffect, { kind: "account" }>,
): Promise<void> {
  const { app, tx, account_id, now, woken } = context;
  const { event: detail, at, may_send, may_answer = false, until: reported_until = null } = event;
  const kind = /^\w{1,64}/.exec(detail)?.[0] ?? "something";
  app.log.warn({ account_id }, `the provider sent ${kind} about a business account`);
  if (may_send === undefined) return;
  const happened_at = at ?? now;
  // In the order in which failures of messages lock them.
  const known = await tx
    .selectFrom("chat_numbers")
    .select(["id", "restriction_lifted_at"])
    .where("account_id", "=", account_id)
    .where("business_account_id", "=", event.business_account_id ?? "")
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
  const lifted_at = new Map(known.map((one) => [one.id, one.restriction_lifted_at]));
  const numbers = await tx
    .updateTable("chat_numbers")
    .set({
      standing_at: happened_at,
      restricted_until: may_send ? null : untilUnlessBanned(account_id, reported_until),
    })
    .where("account_id", "=", account_id)
    .where("business_account_id", "=", event.business_account_id ?? "")
    .where((eb) => eb.or([eb("standing_at", "is", null), eb("standing_at", "<=", happened_at)]))
    .returning(["id", "restricted_until"])
    .execute();
  for (const { id, restricted_until: until } of numbers.toSorted((a, b) => a.id - b.id)) {
    if (may_send) {
      woken.push(...(await endRestriction(tx, { account_id, chat_number_id: id }, now)));
      continue;
    }
    if (until !== null && until <= now) continue;
    // A repeated webhook does not set the hold again that a person has lifted since.
    if (isBefore(happened_at, lifted_at.get(id) ?? null)) continue;
    const held = { account_id, scope: "number", subject_id: id } as const;
    const ends = until === null ? {} : { ends_at: until };
    const isNew = await hold(tx, { ...held, reason: "sender_restricted", detail, ...ends }, now);
    await completeHold(tx, [account_id, id, detail, until, restriction_details, may_answer, isNew]);
    if (until === null) continue;
    await addJob(
      tx,
      { account_id, kind: "chat.end_restriction", subject: String(id), run_at: until },
      now,
    );
  }
}

const takes_webhook = `(detail = any ($5::text[])
      or ($4::timestamptz is null and ends_at is not null and detail like 'account_update%'))`;

// A hold that a message set takes the webhook's detail and end, so that a ban is known by its detail; so does the hold of
// a restriction with an end, once there is none. Of several restrictions and bans, each must allow answers.
const completeHold = statement(`
  update chat_holds set
    detail = case when ${takes_webhook} then $3 else detail end,
    ends_at = case when ${takes_webhook} then $4 else ends_at end,
    allows_answers = $6 and ($7 or allows_answers or coalesce(detail = any ($5::text[]), false))
  where account_id = $1 and scope = 'number' and subject_id = $2 and reason = 'sender_restricted'`);

/** The end of a restriction, but null for a number that a restriction without an end holds already. */
function untilUnlessBanned(accountId: number, until: Date | null) {
  return sql<Date | null>`case when restricted_until is not null or not exists (
    select from chat_holds h
    where h.account_id = ${accountId} and h.scope = 'number' and h.subject_id = chat_numbers.id
      and h.reason = 'sender_restricted' and h.detail like 'account_update%') then ${until}::timestamptz end`;
}
