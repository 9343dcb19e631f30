import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

/** Who is signed in, and what the role allows. */
export type Me = Awaited<ReturnType<typeof readMe>>;

const readMe = (signal?: AbortSignal) => body(api.GET("/api/v1/me", signal ? { signal } : {}));

/** Reads again who is signed in; pages see it once the router is invalidated. */
export async function reloadMe(): Promise<void> {
  queryClient.setQueryData(["me"], await readMe());
}

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => readMe(signal),
  staleTime: 60_000,
});
