import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export type Erasure = Answer<"readErasure">;

/** An erasure, read again each second until it is done. */
export const erasureQuery = (id: number) =>
  queryOptions({
    queryKey: ["erasure", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/erasures/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.state === "done" ? false : 1_000),
  });

/** Newest first. */
export const erasuresQuery = infiniteQueryOptions({
  queryKey: ["erasures"],
  queryFn: ({ pageParam: cursor, signal }) =>
    body(api.GET("/api/v1/erasures", { params: { query: { limit: 50, cursor } }, signal })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

/** Requests the erasure of everything known about a person; returns its ID. */
export async function erasePerson(phone_number: string): Promise<number> {
  const erasure = await body(api.POST("/api/v1/erasures", { body: { phone_number } }));
  queryClient.setQueryData(erasureQuery(erasure.id).queryKey, erasure);
  return erasure.id;
}
