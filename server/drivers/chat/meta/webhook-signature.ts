import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/**
 * Returns whether `X-Hub-Signature-256` proves that Meta sent these bytes. They must be the raw body: Meta escapes
 * non-ASCII characters, so JSON that is serialized again has another signature.
 */
export function isSignedBy(app_secret: string, raw: Buffer, header: string | undefined): boolean {
  const signature = /^sha256=([0-9a-f]{64})$/i.exec(header ?? "")?.[1];
  if (signature === undefined) return false;
  const expected = createHmac("sha256", app_secret).update(raw).digest();
  return timingSafeEqual(Buffer.from(signature, "hex"), expected);
}

/** Returns the challenge of Meta's subscription request, or null if its token is wrong. */
export function challengeAnswer(
  verify_token: string,
  query: Readonly<Record<string, unknown>>,
): string | null {
  const { "hub.mode": mode, "hub.verify_token": token, "hub.challenge": challenge } = query;
  if (mode !== "subscribe" || typeof token !== "string" || typeof challenge !== "string")
    return null;
  return timingSafeEqual(digest(token), digest(verify_token)) ? challenge : null;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
