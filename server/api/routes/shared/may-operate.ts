import type { Caller } from "../../../accounts/caller.ts";

/** Returns whether the caller may operate the installation: on an operators' account, with the permission. */
export function mayOperate({ account, permissions }: Caller): boolean {
  return account.features.has("operator") && permissions.has("installation.manage");
}
