import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export type Erasure = Answer<"readErasure">;

const refresh_ms = 1_000;

/** An erasure, read again each second until it is done. */
export const erasureQuery = (id: number) =>
  queryOptions({
    queryKey: ["erasure", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/erasures/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.state === "done" ? false : refresh_ms),
  });

/** Newest first, read again each second until all are done. */
export const erasuresQuery = infiniteQueryOptions({
  queryKey: ["erasures"],
  queryFn: ({ pageParam: cursor, signal }) =>
    body(api.GET("/api/v1/erasures", { params: { query: { limit: 50, cursor } }, signal })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  refetchInterval: ({ state }) => {
    const shown = state.data?.pages.flatMap(({ data }) => data) ?? [];
    return shown.some((erasure) => erasure.state !== "done") ? refresh_ms : false;
  },
});

/** Requests the erasure of everything known about a person; returns its ID. */
export async function erasePerson(phone_number: string): Promise<number> {
  const erasure = await body(api.POST("/api/v1/erasures", { body: { phone_number } }));
  queryClient.setQueryData(erasureQuery(erasure.id).queryKey, erasure);
  return erasure.id;
}
