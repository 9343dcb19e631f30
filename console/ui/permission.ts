import { getRouteApi } from "@tanstack/react-router";
import type { Permission } from "../../server/accounts/permissions.ts";

const shell = getRouteApi("/shell");

/** Reports whether the role of the signed-in user has one of the permissions, and the account the feature that it needs. */
export function useMay(...anyOf: readonly [Permission, ...Permission[]]): boolean {
  return useMaySee(anyOf);
}

/** Reports whether the signed-in user may see a page that needs one permission, or any of several. */
export function useMaySee(needed: Permission | readonly Permission[] = []): boolean {
  return maySee(shell.useRouteContext().me.permissions, needed);
}

/** Reports whether these permissions show a page that needs one permission, or any of several. */
export function maySee(
  permissions: readonly string[],
  needed: Permission | readonly Permission[] = [],
): boolean {
  const anyOf = [needed].flat();
  return anyOf.length === 0 || anyOf.some((one) => permissions.includes(one));
}
