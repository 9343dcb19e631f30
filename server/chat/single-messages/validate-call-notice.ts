import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { belongsTo } from "../templates/template-owner.ts";

/**
 * Validates the chat notification of calls: the number belongs to the account and the template to the
 * number. Template approval is checked at each call. The body is the patch of an account and may have
 * any shape.
 */
export async function validateCallNotice(
  db: Kysely<DB>,
  accountId: number,
  body: unknown,
): Promise<FieldError[]> {
  const notice = under(under(body, "calls"), "notice");
  const { chat_number_id, template_id } = (notice ?? {}) as Record<string, unknown>;
  // The schema reports invalid numbers.
  if (typeof chat_number_id !== "number" || typeof template_id !== "number") return [];
  const number = await db
    .selectFrom("chat_numbers")
    .select(["driver", "business_account_id"])
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(chat_number_id))
    .executeTakeFirst();
  const template = await db
    .selectFrom("chat_templates")
    .select(["driver", "business_account_id"])
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(template_id))
    .executeTakeFirst();
  const at = "calls.notice";
  const violations: FieldError[] = [];
  if (!number)
    violations.push({
      field: `${at}.chat_number_id`,
      reason: "is not a chat number of this account",
    });
  if (!template)
    violations.push({ field: `${at}.template_id`, reason: "is not a template of this account" });
  if (number && template && !belongsTo(template, number))
    violations.push({
      field: `${at}.template_id`,
      reason: "does not belong to the chat number",
    });
  return violations;
}

function under(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[field]
    : undefined;
}
