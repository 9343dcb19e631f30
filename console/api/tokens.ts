import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";

export type Token = Row<"listTokens">;
/** A token with its text, which is shown once. */
export type IssuedToken = Answer<"createToken">;

export const tokensQuery = infiniteQueryOptions({
  queryKey: ["tokens"],
  queryFn: ({ pageParam: cursor, signal }) =>
    body(api.GET("/api/v1/tokens", { params: { query: { limit: 100, cursor } }, signal })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});
