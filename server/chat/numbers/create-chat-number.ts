import { randomUUID } from "node:crypto";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { readBusinessPhone } from "./chat-number-schema.ts";
import type { ChatNumberResponse, NewChatNumber } from "./chat-number-schema.ts";
import { findChatNumber } from "./chat-numbers.ts";
import { scheduleTemplateSync } from "./schedule-template-sync.ts";

/**
 * Adds a number and schedules the sync of its business account's templates, now and then daily. A
 * provider's ID belongs to one account of the installation; an ID in use is validation-failed and the
 * owner is not disclosed. A number that was taken from the account is the same number again. In the sandbox, all numbers
 * of an account share one business account.
 */
export async function createChatNumber(
  tx: Tx,
  actor: Actor,
  number: NewChatNumber,
  now: Date,
): Promise<ChatNumberResponse> {
  const { account_id } = actor;
  const ids = {
    provider_phone_number_id: number.provider_phone_number_id ?? `sandbox-${randomUUID()}`,
    business_account_id: number.business_account_id ?? `sandbox-${account_id}`,
  };
  const { driver } = number;
  const id = await storeNumber(tx, account_id, { ...number, ...ids }, now);
  await takeRoutes(tx, account_id, { ...ids, driver, chat_number_id: id });
  const { business_account_id } = ids;
  await scheduleTemplateSync(tx, { account_id, driver, business_account_id }, now);
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_number.created",
    subject_id: id,
    detail: { driver },
  });
  return findChatNumber(tx, account_id, id);
}

/** Stores a number and returns its ID; one that was taken from the account becomes active again. */
async function storeNumber(
  tx: Tx,
  account_id: number,
  number: NewChatNumber & Pick<Routes, "provider_phone_number_id" | "business_account_id">,
  now: Date,
): Promise<number> {
  const { driver, provider_phone_number_id, business_account_id } = number;
  // A restriction of the business account has no webhook of its end, by which the number would be released.
  const standing = await tx
    .selectFrom("chat_numbers")
    .select(["standing_at", "restricted_until"])
    .where("account_id", "=", account_id)
    .where("driver", "=", driver)
    .where("business_account_id", "=", business_account_id)
    .where("standing_at", "is not", null)
    .orderBy("standing_at", "desc")
    .limit(1)
    .executeTakeFirst();
  const values = {
    ...standing,
    name: number.name,
    phone: readBusinessPhone(number.phone_number)!,
    ...(number.rate_per_second ? { rate_per_second: number.rate_per_second } : {}),
    updated_at: now,
  };
  // If the account still has it, its routes refuse it.
  const again = await tx
    .updateTable("chat_numbers")
    .set({ ...values, active: true })
    .where("account_id", "=", account_id)
    .where("driver", "=", driver)
    .where("provider_phone_number_id", "=", provider_phone_number_id)
    .where("business_account_id", "=", business_account_id)
    .returning("id")
    .executeTakeFirst();
  if (again) return again.id;
  const ids = { account_id, driver, provider_phone_number_id, business_account_id };
  const created = await tx
    .insertInto("chat_numbers")
    .values({ ...ids, ...values, created_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  return created.id;
}

type Routes = {
  readonly driver: ChatDriverName;
  readonly provider_phone_number_id: string;
  readonly business_account_id: string;
  readonly chat_number_id: number;
};

/** Claims the routes that map webhooks to accounts; a route that exists stays with its account. */
async function takeRoutes(tx: Tx, account_id: number, routes: Routes): Promise<void> {
  const { driver, chat_number_id } = routes;
  const violations: FieldError[] = [];
  const phone = await tx
    .insertInto("chat_routes")
    .values({
      driver,
      kind: "phone_number",
      provider_id: routes.provider_phone_number_id,
      account_id,
      chat_number_id,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("account_id")
    .executeTakeFirst();
  if (!phone) violations.push({ field: "provider_phone_number_id", reason: "is already in use" });
  const business = { driver, kind: "business_account", provider_id: routes.business_account_id };
  const taken = await tx
    .insertInto("chat_routes")
    .values({ ...business, account_id, chat_number_id: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning("account_id")
    .executeTakeFirst();
  const owner =
    taken ??
    (await tx
      .selectFrom("chat_routes")
      .select("account_id")
      .where("driver", "=", business.driver)
      .where("kind", "=", business.kind)
      .where("provider_id", "=", business.provider_id)
      .executeTakeFirst());
  if (owner?.account_id !== account_id) {
    violations.push({ field: "business_account_id", reason: "is already in use" });
  }
  if (violations.length > 0) throw invalid(violations);
}
