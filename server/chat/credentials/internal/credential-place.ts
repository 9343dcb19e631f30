import type { SecretPlace } from "../../../lib/secrets/secrets.ts";

/** Returns where a part of an account's credential is stored. */
export function credentialPlace(
  column: "access_token" | "app_secret" | "verify_token",
  account_id: number,
): SecretPlace {
  return { column: `whatsapp_credentials.${column}`, account_id, id: 0 };
}
