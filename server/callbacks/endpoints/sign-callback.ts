// Signatures of Standard Webhooks 1.0.0.
import { createHmac } from "node:crypto";
import type { SecretPlace } from "../../lib/secrets/secrets.ts";

export const secret_bytes = 32;

/** Returns where a secret of an endpoint is stored. */
export function secretPlace(
  column: "secret" | "old_secret",
  account_id: number,
  id: number,
): SecretPlace {
  return { column: `callback_endpoints.${column}`, account_id, id };
}

/** Returns a secret in the form that the API shows. */
export function secretText(secret: Buffer): string {
  return `whsec_${secret.toString("base64")}`;
}

/**
 * Returns the `webhook-signature` header: one signature for each secret, so that either verifies during a
 * rotation. `seconds`: Unix time of the attempt; `content`: the body, or the query of a GET.
 */
export function signCallback(
  secrets: readonly Buffer[],
  callback: { readonly id: string; readonly seconds: number; readonly content: string },
): string {
  const signed = `${callback.id}.${callback.seconds}.${callback.content}`;
  return secrets
    .map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`)
    .join(" ");
}
