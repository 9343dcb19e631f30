import { getRouteApi } from "@tanstack/react-router";
import type { Permission } from "../../server/accounts/permissions.ts";

const shell = getRouteApi("/shell");

/** Reports whether the role of the signed-in user has one of the permissions, and the account the feature that it needs. */
export function useMay(...anyOf: readonly [Permission, ...Permission[]]): boolean {
  const { permissions } = shell.useRouteContext().me;
  return anyOf.some((one) => permissions.includes(one));
}
