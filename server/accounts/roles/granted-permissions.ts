import { permissionNames, type Permission } from "../permissions.ts";

/**
 * Returns the permissions of a user or token: all for the owner, those of the role for other users, none
 * without a role. Scopes only narrow them.
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
