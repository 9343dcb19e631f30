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

/**
 * Reads again who is signed in, after a change that the pages must show at once. Never throws, because the change is
 * stored: the next page reads it again.
 */
export async function reloadMe(): Promise<void> {
  try {
    queryClient.setQueryData(["me"], await readMe());
  } catch {
    await queryClient.invalidateQueries({ queryKey: ["me"] });
  }
}

/** followSession shows each change of the answer to the pages. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => readMe(signal),
  staleTime: 60_000,
  // It has no observer. A page must not wait for it again.
  gcTime: Infinity,
});

/** Returns who is signed in, as it is known, and reads it again in the background if that is older than a minute. */
export async function currentMe(): Promise<Me> {
  const me = await queryClient.query({ ...meQuery, staleTime: "static" });
  // The requests of the page fail for the same reason, and say so.
  queryClient.query(meQuery).catch(() => {});
  return me;
}
