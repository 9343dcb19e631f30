import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Row } from "./answer.ts";
import { api, body } from "./client.ts";

export type ChatReportRow = Row<"readChatReport">;
export type CallReportRow = Row<"readCallReport">;
export type ChatGroup = "campaign" | "day" | "number";
export type CallGroup = ChatGroup | "agent";

/** Days in the account's time zone, the last one exclusive; without them the last 30 days. */
export type ReportRange = { readonly from?: string; readonly to?: string };

/** All days of the longest report are drawn. */
const limitOf = (group_by: CallGroup) => (group_by === "day" ? 400 : 100);

export const chatReportQuery = (group_by: ChatGroup, range: ReportRange) =>
  infiniteQueryOptions({
    queryKey: ["reports", "chat", group_by, range],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/reports/chat", {
          params: { query: { group_by, ...range, limit: limitOf(group_by), cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const callReportQuery = (group_by: CallGroup, range: ReportRange) =>
  infiniteQueryOptions({
    queryKey: ["reports", "calls", group_by, range],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/reports/calls", {
          params: { query: { group_by, ...range, limit: limitOf(group_by), cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
