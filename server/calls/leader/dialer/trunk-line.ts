// The caller id and number format of a carrier's trunk.
import type { Call, Line } from "../../state-machine/call.ts";

export type TrunkLine = {
  readonly id: number;
  /** The endpoint in the nodes' PJSIP configuration. */
  readonly endpoint: string;
  readonly number_format: "e164" | "plus_e164" | "national";
  readonly number_prefix: string;
  /** The first is shown when a call names none. */
  readonly caller_ids: readonly string[];
  /** Whether the carrier refuses others. */
  readonly caller_ids_only: boolean;
};

/** Formats a phone (E.164 digits) for the trunk's carrier; `national` drops only the account's own country code. */
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
 * Returns how a call's customer is dialed. The caller id is the call's own, unless the carrier refuses it; else
 * the trunk's first; a trunk that lists none shows the agent's number, which carriers replace by their own.
 */
export function lineOf(
  call: Pick<Call, "to_phone" | "cli_number" | "from_number" | "settings">,
  trunk: TrunkLine,
): Line {
  const { caller_ids, caller_ids_only, endpoint } = trunk;
  const asked = call.cli_number;
  const isAsked = asked !== null && (!caller_ids_only || caller_ids.includes(asked));
  const number = formatNumber(trunk, call.to_phone, call.settings.country_code);
  return {
    customer: { kind: "trunk", endpoint, number },
    caller_id: isAsked ? asked : (caller_ids[0] ?? call.from_number),
  };
}
