// Creates a token on a grantor's behalf, with no more permissions than the grantor has.
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalid, invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { parseTime } from "../../lib/parse-time.ts";
import { createToken } from "./create-token.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { permissionsBeyond, refuseBeyond, type Grantor } from "../roles/grantor.ts";
import { validateToken } from "./validate-token.ts";
import { permissionNames, type Permission } from "../permissions.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { TokenRequest, TokenResponse } from "./token-schema.ts";
import { findToken } from "./tokens.ts";

/** A token and its text, which cannot be read again. */
export type Issued = { readonly answer: TokenResponse; readonly token: string };

/**
 * Creates a token. Throws validation-failed (user_id, expires_at); forbidden when the token would have more
 * permissions than the grantor, be of another user who has more, or be an account token while the grantor is neither the
 * owner nor has every permission.
 */
export async function issueToken(
  tx: Tx,
  grantor: Grantor,
  input: TokenRequest,
  timeZone: string,
  now: Date,
): Promise<Issued> {
  const violations = validateToken(input, timeZone, now);
  if (violations.length > 0) throw invalid(violations);
  const { account_id } = grantor.actor;
  const user = await findTokenUser(tx, account_id, input);
  refuseOwnerToken(grantor, input.kind);
  refuseBeyond(grantor, input.scopes ?? grantedPermissions(user));
  refuseStrongerTokenUser(grantor, user.id, grantedPermissions(user));
  const expires_at = input.expires_at == null ? null : parseTime(input.expires_at, timeZone);
  const { id, token } = await createToken(
    tx,
    {
      account_id,
      kind: input.kind,
      user_id: user.id,
      name: input.name,
      scopes: input.scopes ?? null,
      expires_at: expires_at as Date | null,
      allowed_addresses: input.allowed_addresses ?? null,
      // At the command line the owner is stored as creator; the audit trail records the operator.
      created_by: grantor.actor.user_id ?? user.owner_id,
    },
    now,
  );
  const answer = await findToken(tx, account_id, id);
  await recordAudit(tx, grantor.actor, {
    at: now,
    action: "token.created",
    subject_id: id,
    detail: {
      kind: answer.kind,
      user_id: user.id,
      scopes: answer.scopes,
      expires_at: answer.expires_at,
      allowed_addresses: answer.allowed_addresses,
    },
  });
  return { answer, token };
}

/** Throws forbidden for account tokens unless the grantor is the owner or has every permission. */
export function refuseOwnerToken(grantor: Grantor, kind: "account" | "agent"): void {
  if (kind === "agent" || grantor.may_issue_account_tokens) return;
  if (permissionNames.every((permission) => grantor.permissions.has(permission))) return;
  throw new Refusal("forbidden", "Only users with every permission can create an account token");
}

/**
 * Throws forbidden for a token of another user with more permissions than the grantor. Whatever its scopes, a token reads
 * and changes what is its user's own, such as private saved views and the availability.
 */
export function refuseStrongerTokenUser(
  { actor, permissions }: Grantor,
  user_id: number,
  held: Iterable<Permission>,
): void {
  if (user_id === actor.user_id) return;
  const beyond = permissionsBeyond(permissions, held);
  if (beyond.length === 0) return;
  throw new Refusal(
    "forbidden",
    `Whatever its scopes, a token of another user needs their permissions, of which you lack: ${beyond.join(", ")}`,
  );
}

async function findTokenUser(tx: Tx, account_id: number, input: TokenRequest) {
  const users = tx
    .selectFrom("users as u")
    .innerJoin("users as o", (join) =>
      join.onRef("o.account_id", "=", "u.account_id").on("o.is_owner", "=", true),
    )
    .leftJoin("roles as r", (join) =>
      join.onRef("r.account_id", "=", "u.account_id").onRef("r.id", "=", "u.role_id"),
    )
    .select(["u.id", "u.is_owner", "r.permissions as role_permissions", "o.id as owner_id"])
    .where("u.account_id", "=", account_id)
    .where("u.active", "=", true);
  const user = await (
    input.kind === "account"
      ? users.where("u.is_owner", "=", true)
      : users.where("u.id", "=", knownId(input.user_id!))
  ).executeTakeFirst();
  if (!user) throw invalidField("user_id", "must be the ID of an active user");
  return user;
}
