import type { Recipient, RecipientFormat, Rejected } from "../../../audience/intake/open-intake.ts";
import { copyText } from "../../../lib/csv/copy-line.ts";
import { phoneTimeZones } from "../../../lib/phone-time-zones/phone-time-zones.ts";

export type VoiceRecipient = Recipient & {
  /** The number as shown in call records. */
  readonly number: string;
};

/** The recipient format of voice; columns follow the prefix of the campaign. */
export const voice_format: RecipientFormat<VoiceRecipient> = {
  copy_sql: `copy voice_recipients
    (account_id, campaign_id, state, due_at, id, number, phone, time_zones, variables) from stdin`,
  columnsOf: ({ number, phone, variables }, position) =>
    `${position}\t${number}\t${phone}\t${phoneTimeZones(phone)}\t${copyText(variables)}`,
  rejects_max: 100_000,
  duplicate_reason: "has the number of an earlier row",
};

/** Returns the recipient of a row, or why it is rejected; `phone` is null if the number is not valid. */
export function recipientOf(
  phone: string | null,
  number: string,
  { variables, missing }: { readonly variables: string | null; readonly missing: string | null },
): VoiceRecipient | Rejected<string> {
  if (phone === null)
    return { rejected: "must be a number of ten digits, with or without the country code" };
  if (missing !== null) return { rejected: `must have a value for the variable ${missing}` };
  return { phone, number, variables };
}

/** Returns the ten-digit national number of a phone in the account's country, else the phone itself. */
export function localNumber(phone: string, countryCode: string): string {
  const isLocal = phone.length === countryCode.length + 10 && phone.startsWith(countryCode);
  return isLocal ? phone.slice(countryCode.length) : phone;
}

/** The columns that all recipients of a campaign have in common. */
export type RecipientTerms = {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly state: "waiting" | "synthesizing";
  /** ISO 8601. */
  readonly due_at: string;
};

/** Returns the common first columns of a campaign's COPY lines. */
export function prefixOf({ account_id, campaign_id, state, due_at }: RecipientTerms): string {
  return `${account_id}\t${campaign_id}\t${state}\t${due_at}\t`;
}
