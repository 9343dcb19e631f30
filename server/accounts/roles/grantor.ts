// Roles, users and tokens are created under one rule: no grantor grants more than they have.
import { Refusal } from "../../lib/errors.ts";
import type { Caller } from "../caller.ts";
import { permissionNames, type Permission } from "../permissions.ts";
import type { Actor } from "../audit/record-audit.ts";

/** The actor of a grant and the permissions that they may grant. */
export type Grantor = {
  readonly actor: Actor;
  readonly permissions: ReadonlySet<Permission>;
  /** True for the owner and operators; others need every permission to create an account token. */
  readonly may_issue_account_tokens: boolean;
};

/** Returns the caller of a request as a grantor. */
export function grantorOf({ caller, actor }: { caller: Caller; actor: Actor }): Grantor {
  return {
    actor,
    permissions: caller.permissions,
    may_issue_account_tokens:
      caller.token_kind === "account" || (caller.token_kind === "session" && caller.is_owner),
  };
}

/** Returns an operator at the command line, who may grant everything and is recorded without a user. */
export function operatorOf(accountId: number, requestId: string): Grantor {
  return {
    actor: { account_id: accountId, user_id: null, token_id: null, request_id: requestId },
    permissions: new Set(permissionNames),
    may_issue_account_tokens: true,
  };
}

/** Returns which of the permissions are not held. */
export function permissionsBeyond(
  held: ReadonlySet<Permission>,
  permissions: Iterable<Permission>,
): Permission[] {
  return [...permissions].filter((permission) => !held.has(permission));
}

/** Throws forbidden unless the grantor has every one of these permissions. */
export function refuseBeyond(grantor: Grantor, granted: Iterable<Permission>): void {
  const beyond = permissionsBeyond(grantor.permissions, granted);
  if (beyond.length === 0) return;
  throw new Refusal(
    "forbidden",
    `You cannot grant permissions that you do not have: ${beyond.join(", ")}`,
  );
}

/**
 * Throws forbidden unless the grantor has every permission of a token, role, user or invitation that they are about to change. They
 * could otherwise shut out the people who watch over them.
 */
export function refuseStronger(
  grantor: Grantor,
  what: "token" | "role" | "user" | "invitation",
  held: Iterable<Permission>,
): void {
  const beyond = permissionsBeyond(grantor.permissions, held);
  if (beyond.length === 0) return;
  throw new Refusal(
    "forbidden",
    `You cannot change a ${what} with permissions that you do not have: ${beyond.join(", ")}`,
  );
}
