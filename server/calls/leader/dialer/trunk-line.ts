// The caller ID and number format of a carrier's trunk.
import type { Call, Line } from "../../state-machine/call.ts";

export type TrunkLine = {
  readonly id: number;
  /** The endpoint in the nodes' PJSIP configuration. */
  readonly endpoint: string;
  readonly number_format: "e164" | "plus_e164" | "national";
  readonly number_prefix: string;
  /** A call that names no caller ID shows the first. */
  readonly caller_ids: readonly string[];
  /** Whether the carrier rejects other caller IDs. */
  readonly caller_ids_only: boolean;
};

/** Formats a phone number (E.164 digits) for the carrier; `national` drops only the account's country code. */
export function formatNumber(
  { number_format, number_prefix }: Pick<TrunkLine, "number_format" | "number_prefix">,
  phone: string,
  countryCode: string,
): string {
  if (number_format === "plus_e164") return `${number_prefix}+${phone}`;
  const isOwn = phone.startsWith(countryCode) && phone.length === countryCode.length + 10;
  const isShort = number_format === "national" && isOwn;
  return number_prefix + (isShort ? phone.slice(countryCode.length) : phone);
}

/**
 * Returns how a call's customer is dialed. The caller ID of a campaign's call is the campaign's. That of a
 * click-to-call is its own if the carrier accepts it, else the trunk's first, else the agent's number, which
 * carriers replace with their own.
 */
export function resolveLine(
  call: Pick<Call, "to_phone" | "cli_number" | "from_number" | "settings" | "voice">,
  trunk: TrunkLine,
): Line {
  const { caller_ids, caller_ids_only, endpoint } = trunk;
  const number = formatNumber(trunk, call.to_phone, call.settings.country_code);
  const customer = { kind: "trunk", endpoint, number } as const;
  if (call.voice) return { customer, caller_id: call.from_number };
  const requested = call.cli_number;
  const isAllowed = requested !== null && (!caller_ids_only || caller_ids.includes(requested));
  return { customer, caller_id: isAllowed ? requested : (caller_ids[0] ?? call.from_number) };
}
