import { createHash, randomUUID } from "node:crypto";

/** Returns a name-based UUID (version 8) of an account's idempotency key; a random one without a key. */
export function singleMessageUuid(accountId: number, key: string | null): string {
  if (key === null) return randomUUID();
  const hex = createHash("sha256").update(`${accountId}:${key}`).digest("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}
