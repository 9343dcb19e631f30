import { getRouteApi } from "@tanstack/react-router";
import type { Permission } from "../../server/accounts/permissions.ts";

const shell = getRouteApi("/shell");

/** Returns whether the user's role allows something; a button without it is not shown. */
export function useMay(permission: Permission): boolean {
  return shell.useRouteContext().me.permissions.includes(permission);
}
