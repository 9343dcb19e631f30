import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer, Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export type PersonEntry = Row<"listPersonTimeline">;

export const peopleQuery = (q: string) =>
  queryOptions({
    queryKey: ["people", q],
    queryFn: async ({ signal }) =>
      (await body(api.GET("/api/v1/people", { params: { query: { q } }, signal }))).data,
    enabled: q !== "",
  });

/** Who a number belongs to; null if it is known nowhere. */
export const personQuery = (phone_number: string) =>
  queryOptions({
    queryKey: ["person", phone_number, "found"],
    queryFn: async ({ signal }) => {
      const query = { q: phone_number };
      const { data } = await body(api.GET("/api/v1/people", { params: { query }, signal }));
      return data.length === 1 ? data[0]! : null;
    },
  });

/** The history of a number; only of some kinds, unless they are null. */
export const personTimelineQuery = (
  phone_number: string,
  only: readonly PersonEntry["kind"][] | null,
) =>
  infiniteQueryOptions({
    queryKey: ["person", phone_number, "timeline", only],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/people/timeline", {
          params: { query: { phone_number, limit: 50, cursor, kinds: only?.join() } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** The suppressions of a number that are in force. */
export const suppressionsQuery = (phone_number: string) =>
  queryOptions({
    queryKey: ["person", phone_number, "suppressions"],
    queryFn: async ({ signal }) => {
      const query = { phone_number, active: true, limit: 50 };
      return (await body(api.GET("/api/v1/suppressions", { params: { query }, signal }))).data;
    },
  });

/** Suppresses a number. Returns the manual suppression that already lasted as long or longer, and stays; else null. */
export async function suppress(
  suppression: Sent<"addSuppression">,
): Promise<Answer<"addSuppression"> | null> {
  const { phone_number } = suppression;
  const query = { phone_number, source: "manual", active: true, limit: 50 } as const;
  // An error is reported by the addition.
  const before = await body(api.GET("/api/v1/suppressions", { params: { query } })).catch(
    () => null,
  );
  const now = await body(api.POST("/api/v1/suppressions", { body: suppression }));
  await queryClient.invalidateQueries({ queryKey: ["person"] });
  const isOld = before?.data.some((old) => old.id === now.id && old.created_at === now.created_at);
  return isOld ? now : null;
}

export async function liftSuppression(id: number, reason = ""): Promise<void> {
  const query = reason === "" ? {} : { reason };
  await api.DELETE("/api/v1/suppressions/{id}", { params: { path: { id }, query } });
  await queryClient.invalidateQueries({ queryKey: ["person"] });
}
