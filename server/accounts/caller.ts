import type { Feature, Permission } from "./permissions.ts";

/** Who is asking: the user a token acts as, within what its account, role and scopes allow. */
export type Caller = {
  readonly account: {
    readonly id: number;
    readonly name: string;
    readonly features: ReadonlySet<Feature>;
    /** Without a plus; turns ten-digit numbers into E.164. */
    readonly country_code: string;
    readonly time_zone: string;
    /** Requests a minute that may create chat campaigns. */
    readonly chat_writes_a_minute: number;
    /** Whether chat trims numbers that are possible but not valid, too. */
    readonly chat_valid_numbers_only: boolean;
  };
  readonly user_id: number;
  readonly token_id: number;
  readonly token_kind: "account" | "agent";
  readonly has_role: boolean;
  readonly permissions: ReadonlySet<Permission>;
};
