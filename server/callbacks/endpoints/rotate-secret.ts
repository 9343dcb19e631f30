import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { RotatedEndpoint } from "./endpoint-schema.ts";
import { endpoint_columns, endpointResponse } from "./endpoints.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { newSecret, sealSecret } from "./internal/new-secret.ts";
import { secretPlace, secretText } from "./sign-callback.ts";

const overlap_ms = 24 * 3_600_000;

/**
 * Rotates an endpoint's secret: the previous secret also signs for 24 hours, and older ones no longer do.
 * Refuses: not-found.
 */
export async function rotateSecret(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
  secrets: Secrets,
): Promise<RotatedEndpoint> {
  const { account_id } = actor;
  const plain = newSecret();
  const old_secret_until = new Date(now.getTime() + overlap_ms);
  const before = await tx
    .selectFrom("callback_endpoints")
    .select("secret")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!before) throw notFound();
  const old = secrets.open(secretPlace("secret", account_id, id), before.secret);
  const row = await tx
    .updateTable("callback_endpoints")
    .set({
      old_secret: sealSecret(secrets, "old_secret", account_id, id, old),
      old_secret_until,
      secret: sealSecret(secrets, "secret", account_id, id, plain),
      adopted: true,
      updated_at: now,
    })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning(endpoint_columns)
    .executeTakeFirstOrThrow();
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.secret_rotated",
    subject_id: id,
    detail: { old_secret_until },
  });
  return {
    ...endpointResponse(row),
    secret: secretText(plain),
    old_secret_until: old_secret_until.toISOString(),
  };
}
