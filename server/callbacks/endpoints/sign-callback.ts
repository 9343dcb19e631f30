// Signatures of Standard Webhooks 1.0.0.
import { createHmac } from "node:crypto";

export const secret_bytes = 32;

/** A secret as its owner is shown it. */
export function secretText(secret: Buffer): string {
  return `whsec_${secret.toString("base64")}`;
}

/**
 * The `webhook-signature` header: one signature for each secret, so that either verifies while one
 * replaces the other. `seconds`: unix time of the attempt; `content`: the body, or a GET's query.
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
