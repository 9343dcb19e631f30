import { getRouteApi } from "@tanstack/react-router";
import type { Permission } from "../../server/accounts/permissions.ts";

const shell = getRouteApi("/shell");

/** Reports whether the role of the signed-in user has a permission, and the account the feature that it needs. */
export function useMay(permission: Permission): boolean {
  return shell.useRouteContext().me.permissions.includes(permission);
}
