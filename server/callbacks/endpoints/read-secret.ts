import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import type { EndpointSecret } from "./endpoint-schema.ts";
import { secretPlace, secretText } from "./sign-callback.ts";

/**
 * Returns the secret that signs an endpoint's callbacks, and records the reader in the audit trail. Marks the
 * endpoint as adopted, so that retention does not delete it. Refuses: not-found.
 */
export async function readSecret(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
  secrets: Secrets,
): Promise<EndpointSecret> {
  const { account_id } = actor;
  const row = await tx
    .updateTable("callback_endpoints")
    .set({ adopted: true })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .returning(["secret", "old_secret_until"])
    .executeTakeFirst();
  if (!row) throw notFound();
  const { old_secret_until: until } = row;
  const secret = secrets.open(secretPlace("secret", account_id, id), row.secret);
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.secret_read",
    subject_id: id,
  });
  const old_secret_until = until && until > now ? until.toISOString() : null;
  return { secret: secretText(secret), old_secret_until };
}
