import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { phone_reason, readPersonPhone } from "../../audience/intake/read-person-phone.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import type { NewNumberAssignment, NumberAssignment } from "./phone-number-schema.ts";
import { assignmentResponse } from "./phone-numbers.ts";

/**
 * Assigns a phone number to an account, which alone may show it from now on; for operators. Refuses:
 * validation-failed (account_id; number if it is not valid or belongs to an account already).
 */
export async function assignPhoneNumber(
  tx: Tx,
  actor: Actor,
  wanted: NewNumberAssignment,
  now: Date,
): Promise<NumberAssignment> {
  const account = await tx
    .selectFrom("accounts")
    .select(["account_id", "country_code"])
    .where("account_id", "=", knownId(wanted.account_id))
    .executeTakeFirst();
  if (!account) throw invalidField("account_id", "matches no account");
  const number = readPersonPhone(wanted.number, account.country_code);
  if (number === null) throw invalidField("number", phone_reason);
  const { account_id } = account;
  const assigned = await tx
    .insertInto("phone_numbers")
    .values({ number, account_id, assigned_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!assigned)
    throw invalidField("number", "belongs to an account already; remove that assignment first");
  const detail = { account_id };
  await recordAudit(tx, actor, {
    at: now,
    action: "phone_number.assigned",
    subject_id: number,
    detail,
  });
  return assignmentResponse(assigned);
}
