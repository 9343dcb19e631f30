// The caller ID and number format of a carrier's trunk.
import { beginsWithExitCode } from "../../../lib/phone-destinations/phone-destinations.ts";
import { dialedPhone } from "../../../lib/phone-key.ts";
import type { Call, Line } from "../../state-machine/call.ts";

export type TrunkLine = {
  readonly id: number;
  /** The endpoint in the nodes' PJSIP configuration. */
  readonly endpoint: string;
  readonly number_format: "e164" | "plus_e164" | "national";
  readonly number_prefix: string;
  /** The countries that it may call, or `*`. */
  readonly destinations: readonly string[];
};

/**
 * Formats a phone number (E.164 digits) for the carrier; `national` drops only the account's country code, and
 * never so that the rest would be dialed as an international call.
 */
export function formatNumber(
  { number_format, number_prefix }: Pick<TrunkLine, "number_format" | "number_prefix">,
  as_given: string,
  countryCode: string,
): string {
  const phone = dialedPhone(as_given);
  if (number_format === "plus_e164") return `${number_prefix}+${phone}`;
  const isOwn = phone.startsWith(countryCode) && phone.length === countryCode.length + 10;
  const national = phone.slice(countryCode.length);
  const isShort =
    number_format === "national" && isOwn && !beginsWithExitCode(national, countryCode);
  return number_prefix + (isShort ? national : phone);
}

/** Shown as the caller ID where the carrier sets one. */
export const carrier_sets_caller_id = "0";

/** Returns how a call's customer is dialed, with the caller ID that the account may show. */
export function resolveLine(
  call: Pick<Call, "to_phone" | "caller_id" | "settings">,
  trunk: TrunkLine,
): Line {
  const number = formatNumber(trunk, call.to_phone, call.settings.country_code);
  const customer = { kind: "trunk", endpoint: trunk.endpoint, number } as const;
  return { customer, caller_id: call.caller_id ?? carrier_sets_caller_id };
}
