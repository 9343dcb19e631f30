import type { Caller } from "./caller.ts";
import type { Feature, Permission } from "./permissions.ts";

/** What seeing something needs: one of the features, if there are any, and one of the permissions. */
export type Need = {
  readonly features?: readonly Feature[];
  readonly anyOf: readonly Permission[];
};

/** Returns whether the caller may see what has this need, on a route that shows several things. */
export function maySee(
  { account, permissions }: Pick<Caller, "account" | "permissions">,
  { features, anyOf }: Need,
): boolean {
  const has_feature = !features || features.some((feature) => account.features.has(feature));
  return has_feature && anyOf.some((permission) => permissions.has(permission));
}
