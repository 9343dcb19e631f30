import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";

export type Call = Row<"listCalls">;
export type CallDetail = Answer<"readCall">;
export type CallStatus = Call["status"];

export type CallFilter = {
  readonly type?: Call["type"];
  readonly status?: CallStatus;
  /** Of the agent or the customer. */
  readonly number?: string;
  readonly campaign_id?: number;
  /** Days in the account's time zone. */
  readonly from?: string;
  readonly to?: string;
};

export const callsQuery = (filter: CallFilter) =>
  infiniteQueryOptions({
    queryKey: ["calls", "list", filter],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/calls", { params: { query: { limit: 50, ...filter, cursor } }, signal }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const callQuery = (id: number) =>
  queryOptions({
    queryKey: ["calls", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/calls/{id}", { params: { path: { id } }, signal })),
  });
