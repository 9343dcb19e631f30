import { queryOptions } from "@tanstack/react-query";
import { featuresFor } from "../from-server.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

/** Who is signed in, and what the role allows with the features of the account. */
export type Me = Awaited<ReturnType<typeof readMe>>;

async function readMe(signal?: AbortSignal) {
  const me = await body(api.GET("/api/v1/me", signal ? { signal } : {}));
  return { ...me, permissions: me.permissions.filter((one) => hasFeatureFor(me, one)) };
}

/** Returns whether the account has the feature that a permission needs. */
export function hasFeatureFor(
  { account }: { readonly account: { readonly features: readonly string[] } },
  permission: string,
): boolean {
  const needed = featuresFor(permission);
  return needed.length === 0 || needed.some((feature) => account.features.includes(feature));
}

/** Reads again who is signed in; pages see it once the router is invalidated. */
export async function reloadMe(): Promise<void> {
  queryClient.setQueryData(["me"], await readMe());
}

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => readMe(signal),
  staleTime: 60_000,
});
