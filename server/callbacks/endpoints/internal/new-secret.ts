import { randomBytes } from "node:crypto";
import { secret_bytes } from "../sign-callback.ts";

/** A secret that nobody can guess. */
export function newSecret(): Buffer {
  return randomBytes(secret_bytes);
}
