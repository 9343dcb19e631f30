import {
  barredReason,
  destinationBlocker,
  type AccountDestinations,
  type DestinationBlocker,
} from "../../accounts/accounts/call-destinations.ts";
import { every_destination } from "../../lib/phone-destinations/phone-destinations.ts";
import type { TrunkOnNode } from "../../telephony/trunks/choose-trunk.ts";

/** The phones to dial (E.164 digits); null for an extension, and for an invalid number. */
export type Dialed = { readonly from_number: string | null; readonly to_number: string | null };

export type CallableTrunks = {
  readonly trunks: readonly TrunkOnNode[];
  /** Why a phone is never called; null: it is not barred. */
  readonly barred: { readonly [Field in keyof Dialed]: string | null };
  /** Null if there is a trunk. */
  readonly blocker: DestinationBlocker | null;
};

/** Returns the trunks over which both phones may be called, with the reasons if there is none. */
export function callableTrunks(
  account: AccountDestinations,
  trunks: readonly TrunkOnNode[],
  { from_number, to_number }: Dialed,
): CallableTrunks {
  const over = (trunk: TrunkOnNode | null, phone: string | null) =>
    phone ? destinationBlocker(account, trunk?.destinations ?? [every_destination], phone) : null;
  const reasonOf = (phone: string | null) => {
    const found = over(null, phone);
    return found?.reason === "number_barred" ? barredReason(found.kind) : null;
  };
  const blockerOf = (trunk: TrunkOnNode | null) =>
    over(trunk, from_number) ?? over(trunk, to_number);
  const callable = trunks.filter((trunk) => blockerOf(trunk) === null);
  return {
    trunks: callable,
    barred: { from_number: reasonOf(from_number), to_number: reasonOf(to_number) },
    blocker: callable.length > 0 ? null : blockerOf(trunks[0] ?? null),
  };
}
