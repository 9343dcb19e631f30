// Nobody grants more than they have: roles, users and tokens are made under this rule.
import { Refusal } from "../../lib/errors.ts";
import type { Caller } from "../caller.ts";
import { permissionNames, type Permission } from "../permissions.ts";
import type { Actor } from "../audit/record-audit.ts";

/** Who grants something, and how much they have to give. */
export type Grantor = {
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** Whether they may hand out tokens that act as the owner with less than every permission. */
  readonly acts_as_owner: boolean;
};

/** The caller of a request, as a grantor. */
export function grantorOf({ caller, actor }: { caller: Caller; actor: Actor }): Grantor {
  return {
    actor,
    permissions: caller.permissions,
    acts_as_owner: caller.token_kind === "account",
  };
}

/** An operator at the command line: may grant everything, and stands in the audit trail as nobody. */
export function operatorOf(accountId: number, requestId: string): Grantor {
  return {
    actor: { account_id: accountId, user_id: null, token_id: null, request_id: requestId },
    permissions: new Set(permissionNames),
    acts_as_owner: true,
  };
}

/** Refuses (forbidden) unless the grantor has every one of these permissions. */
export function refuseBeyond(grantor: Grantor, granted: Iterable<Permission>): void {
  const beyond = [...granted].filter((permission) => !grantor.permissions.has(permission));
  if (beyond.length === 0) return;
  throw new Refusal("forbidden", `This would grant more than you have: ${beyond.join(", ")}`);
}
