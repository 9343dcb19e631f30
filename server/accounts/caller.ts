import type { Feature, Permission } from "./permissions.ts";

/** The authenticated user of a request, with the permissions that account, role and scopes allow. */
export type Caller = {
  readonly account: {
    readonly id: number;
    readonly name: string;
    readonly features: ReadonlySet<Feature>;
    /** Country code that is prefixed to ten-digit numbers, without a plus. */
    readonly country_code: string;
    readonly time_zone: string;
    /** Chat campaigns the account may create per minute. */
    readonly chat_writes_a_minute: number;
    /** Requests a minute of the account, and of each of its tokens, to one process. */
    readonly requests_a_minute: number;
    readonly token_requests_a_minute: number;
    /** Whether chat also trims numbers that are possible but not valid. */
    readonly chat_valid_numbers_only: boolean;
    /** Being moved to another installation: it accepts no writes. */
    readonly frozen: boolean;
  };
  readonly user_id: number;
  readonly token_id: number;
  readonly token_kind: "account" | "agent" | "session";
  readonly is_owner: boolean;
  readonly has_role: boolean;
  readonly permissions: ReadonlySet<Permission>;
  /** Whether the token may be used from an IP address; absent: from any. */
  readonly isAllowedFrom?: (address: string) => boolean;
};

/** Returns whether the caller's token may be used from an IP address. */
export function isUsableFrom({ isAllowedFrom }: Caller, address: string): boolean {
  return isAllowedFrom === undefined || isAllowedFrom(address);
}
