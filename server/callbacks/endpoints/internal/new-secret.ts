import { randomBytes } from "node:crypto";
import { secret_bytes } from "../sign-callback.ts";

/** Returns a new random secret. */
export function newSecret(): Buffer {
  return randomBytes(secret_bytes);
}
