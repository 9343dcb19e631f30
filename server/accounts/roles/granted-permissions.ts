import { permissionNames, type Permission } from "../permissions.ts";

/**
 * What a user may do, and a token that acts as them: the owner everything, others what their role
 * says, nobody anything without one; scopes only narrow.
 */
export function grantedPermissions(
  user: { readonly is_owner: boolean; readonly role_permissions: readonly string[] | null },
  scopes: readonly string[] | null = null,
): Set<Permission> {
  const granted = user.is_owner
    ? permissionNames
    : ((user.role_permissions ?? []) as readonly Permission[]);
  return new Set(scopes ? granted.filter((permission) => scopes.includes(permission)) : granted);
}
