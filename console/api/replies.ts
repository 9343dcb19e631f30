import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";
import { queryClient } from "./query-client.ts";

export type Reply = Row<"listChatReplies">;
export type SentAnswer = Answer<"sendChatAnswer">;

/** What changes the delivery status of an answer. */
export const answer_events = [
  "chat.answer.sent",
  "chat.answer.delivered",
  "chat.answer.read",
  "chat.answer.failed",
] as const;

export type ReplyFilter = {
  readonly phone_number?: string;
  readonly bsuid?: string;
  readonly opted_out?: boolean;
};

/** Replies, newest first. */
export const repliesQuery = (filter: ReplyFilter) =>
  infiniteQueryOptions({
    queryKey: ["replies", filter],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/chat/replies", {
            params: { query: { ...filter, limit: 100, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    refetchOnWindowFocus: true,
  });

/** Sends an answer, at most once for a key. */
export async function answerReply(id: number, text: string, key: string): Promise<SentAnswer> {
  try {
    return await body(
      api.POST("/api/v1/chat/replies/{id}/answers", {
        params: { path: { id }, header: { "idempotency-key": key } },
        body: { text },
      }),
    );
  } finally {
    await queryClient.invalidateQueries({ queryKey: ["replies"] });
  }
}
