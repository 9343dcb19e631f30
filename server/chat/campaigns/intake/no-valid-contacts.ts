import { Refusal } from "../../../lib/errors.ts";

/** Returns the error for a campaign without recipients, with the reasons they were trimmed. */
export function noValidContacts(trimmed: {
  readonly invalid: number;
  readonly duplicate: number;
  readonly blacklisted?: number;
}): Refusal {
  const parts = [
    [trimmed.invalid, "no possible phone number with its country code"],
    [trimmed.duplicate, "duplicate"],
    [trimmed.blacklisted ?? 0, "suppressed"],
  ] as const;
  const reasons = parts.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`);
  const detail = reasons.length > 0 ? reasons.join(", ") : "there were none";
  return new Refusal("bad-request", `No valid contacts remain: ${detail}`);
}
