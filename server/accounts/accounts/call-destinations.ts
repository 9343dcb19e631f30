// Which countries an account calls: its operator sets a bound, and the account may narrow it.
import type { FieldError } from "../../lib/errors.ts";
import {
  destinationOf,
  hasDestination,
  homeCountries,
  isDestination,
  type BarredKind,
} from "../../lib/phone-destinations/phone-destinations.ts";

export type AccountDestinations = {
  readonly country_code: string;
  /** The operator's bound (ISO countries, or `*`); null: the country of country_code. */
  readonly destinations_allowed: readonly string[] | null;
  /** What the account calls of them; null: all. */
  readonly destinations: readonly string[] | null;
};

/** Why a phone must not be called: numbers of its kind never are, or its country is not allowed. */
export type DestinationBlocker =
  | { readonly reason: "number_barred"; readonly kind: BarredKind }
  | { readonly reason: "destination_not_allowed"; readonly country: string | null };

/** Returns why the account must not call a phone (E.164 digits) over a trunk to these destinations, or null. */
export function destinationBlocker(
  account: AccountDestinations,
  trunkDestinations: readonly string[],
  phone: string,
): DestinationBlocker | null {
  const { country, barred } = destinationOf(phone);
  if (barred) return { reason: "number_barred", kind: barred };
  const lists = [boundOf(account), account.destinations, trunkDestinations];
  const isAllowed = lists.every((list) => list === null || hasDestination(list, country));
  return isAllowed ? null : { reason: "destination_not_allowed", country };
}

/** Returns the operator's bound of an account. */
export function boundOf({
  country_code,
  destinations_allowed,
}: Pick<AccountDestinations, "country_code" | "destinations_allowed">): readonly string[] {
  return destinations_allowed ?? homeCountries(country_code);
}

/** Reports the entries of a list that are no countries with phone numbers. The list may have any shape. */
export function validateDestinations(field: string, list: unknown): FieldError[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, i) =>
    typeof entry === "string" && !isDestination(entry)
      ? [{ field: `${field}.${i}`, reason: "must be a country such as IN, or *" }]
      : [],
  );
}

const kinds: Readonly<Record<BarredKind, string>> = {
  premium_rate: "a premium-rate or shared-cost number",
  satellite: "a satellite phone",
  international_network: "a number of an international network",
  unassigned: "a number of an unassigned country code",
  short_code: "a short code",
};

/** Returns the reason of a field whose number must never be called. */
export function barredReason(kind: BarredKind): string {
  return `must not be ${kinds[kind]}`;
}
