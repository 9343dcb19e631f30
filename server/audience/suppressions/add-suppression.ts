import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import { parseTime } from "../../lib/parse-time.ts";
import type { Locale } from "./validate-suppression.ts";
import { phone_reason, readPersonPhone } from "../intake/read-person-phone.ts";
import { suppress } from "./suppress.ts";
import type { NewSuppression, SuppressionResponse } from "./suppression-schema.ts";
import { suppressionResponse } from "./suppressions.ts";

/**
 * Adds a manual suppression and returns the one in effect, which is the existing manual one if it lasts as
 * long or longer. Adding the same suppression again changes nothing. Refuses: validation-failed (see
 * validateSuppression).
 */
export async function addSuppression(
  tx: Tx,
  actor: Actor,
  input: NewSuppression,
  locale: Locale,
  now: Date,
): Promise<SuppressionResponse> {
  const { account_id, user_id } = actor;
  const phone = readPersonPhone(input.phone_number, locale.country_code);
  if (phone === null) throw invalidField("phone_number", phone_reason);
  const expires_at =
    input.expires_at == null ? null : parseTime(input.expires_at, locale.time_zone);
  if (typeof expires_at === "string") throw invalidField("expires_at", expires_at);
  const channel = input.channel ?? "all";
  const reason = input.reason || "manual";
  const scope = input.scope ?? "all";
  const source = "manual";
  const changed = await suppress(
    tx,
    {
      account_id,
      person: { phone },
      channel,
      scope,
      source,
      reason,
      evidence: null,
      occurred_at: now,
      expires_at,
      created_by: user_id,
    },
    now,
  );
  const row = await tx
    .selectFrom("suppressions")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("person_key", "=", phoneKey(phone))
    .where("channel", "=", channel)
    .where("scope", "=", scope)
    .where("source", "=", source)
    .executeTakeFirstOrThrow();
  if (changed) {
    await recordAudit(tx, actor, {
      at: now,
      action: "suppression.added",
      subject_id: row.id,
      detail: { channel, scope, expires_at: row.expires_at },
    });
  }
  return suppressionResponse(row, now);
}
