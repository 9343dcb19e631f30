import { recordAudit, type Actor } from "../accounts/audit/record-audit.ts";
import { phone_reason, readPersonPhone } from "../audience/intake/read-person-phone.ts";
import { addJob } from "../engine/add-job.ts";
import type { Tx } from "../lib/database/database.ts";
import { invalidField, type FieldError } from "../lib/errors.ts";
import { first_progress } from "./erase/part.ts";
import type { ErasureResponse, NewErasure } from "./erasure-schema.ts";
import { erasureResponse } from "./erasures.ts";

const shown_digits = 2;

/** Returns the violations that the schema cannot detect. The body may have any shape. */
export function validateErasure(body: unknown, countryCode: string): FieldError[] {
  const { phone_number } = (body ?? {}) as { phone_number?: unknown };
  if (typeof phone_number !== "string" || readPersonPhone(phone_number, countryCode)) return [];
  return [{ field: "phone_number", reason: phone_reason }];
}

/**
 * Requests the erasure of all data about a number by the job retention.erase_person; the caller sends the
 * notification `job` after the commit. The response, which an idempotency key may store, does not contain the
 * number. Refuses: validation-failed.
 */
export async function requestErasure(
  tx: Tx,
  actor: Actor,
  input: NewErasure,
  countryCode: string,
  now: Date,
): Promise<ErasureResponse> {
  const { account_id } = actor;
  const phone = readPersonPhone(input.phone_number, countryCode);
  if (phone === null) throw invalidField("phone_number", phone_reason);
  const row = await tx
    .insertInto("erasures")
    .values({
      account_id,
      phone,
      phone_shown: "*".repeat(phone.length - shown_digits) + phone.slice(-shown_digits),
      progress: JSON.stringify(first_progress),
      requested_by: actor.user_id,
      requested_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const subject = String(row.id);
  await addJob(tx, { account_id, kind: "retention.erase_person", subject, run_at: now }, now);
  await recordAudit(tx, actor, { at: now, action: "person.erasure_requested", subject_id: row.id });
  return erasureResponse(row);
}
