import { recordAudit, type Actor } from "../accounts/audit/record-audit.ts";
import { phone_reason, readPersonPhone } from "../audience/intake/read-person-phone.ts";
import { addJob } from "../engine/add-job.ts";
import { parseBsuid } from "../lib/bsuid.ts";
import type { Tx } from "../lib/database/database.ts";
import { invalidField, type FieldError } from "../lib/errors.ts";
import { first_progress } from "./erase/part.ts";
import type { ErasureResponse, NewErasure } from "./erasure-schema.ts";
import { erasureResponse } from "./erasures.ts";

const shown_digits = 2;

const reason = `${phone_reason}, or a WhatsApp user ID`;

/** Returns the violations that the schema cannot detect. The body may have any shape. */
export function validateErasure(body: unknown, countryCode: string): FieldError[] {
  const { phone_number } = (body ?? {}) as { phone_number?: unknown };
  if (typeof phone_number !== "string" || readIdentity(phone_number, countryCode)) return [];
  return [{ field: "phone_number", reason }];
}

function readIdentity(text: string, countryCode: string) {
  const bsuid = parseBsuid(text);
  const phone = bsuid === null ? readPersonPhone(text, countryCode) : null;
  return bsuid === null && phone === null ? null : { bsuid, phone };
}

/**
 * Requests the erasure of all data about a person by the job retention.erase_person; the caller sends the
 * notification `job` after the commit. The response, which an idempotency key may store, does not contain the
 * number or user ID. Refuses: validation-failed.
 */
export async function requestErasure(
  tx: Tx,
  actor: Actor,
  input: NewErasure,
  countryCode: string,
  now: Date,
): Promise<ErasureResponse> {
  const { account_id } = actor;
  const identity = readIdentity(input.phone_number, countryCode);
  if (identity === null) throw invalidField("phone_number", reason);
  const named = identity.phone ?? identity.bsuid!;
  const row = await tx
    .insertInto("erasures")
    .values({
      account_id,
      ...identity,
      phone_shown: "*".repeat(named.length - shown_digits) + named.slice(-shown_digits),
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
