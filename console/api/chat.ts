import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";

export type Campaign = Row<"listChatCampaigns">;
export type CampaignDetail = Answer<"readChatCampaign">;
export type Recipient = Row<"listChatRecipients">;
export type CampaignStatus = Campaign["status"];
export type RecipientState = Recipient["state"];

export const campaignsQuery = (status: CampaignStatus | undefined) =>
  infiniteQueryOptions({
    queryKey: ["chat-campaigns", "list", { status }],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/chat/campaigns", {
          params: { query: { limit: 50, status, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const campaignQuery = (id: number) =>
  queryOptions({
    queryKey: ["chat-campaigns", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/chat/campaigns/{id}", { params: { path: { id } }, signal })),
  });

export type RecipientFilter = { readonly state?: RecipientState; readonly error?: string };

export const recipientsQuery = (id: number, filter: RecipientFilter) =>
  infiniteQueryOptions({
    queryKey: ["chat-recipients", id, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/chat/campaigns/{id}/recipients", {
          params: { path: { id }, query: { limit: 100, ...filter, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** How many recipients ended in a state for a reason. */
export type ReasonCount = {
  readonly state: RecipientState;
  readonly error: string | null;
  readonly count: number;
};

const pages_max = 5;

/**
 * Counts the failed and skipped recipients by reason. `complete` is false if there are more than a thousand of a state,
 * of which the first thousand are counted.
 */
export const reasonsQuery = (id: number) =>
  queryOptions({
    queryKey: ["chat-recipients", id, "reasons"],
    queryFn: async ({ signal }) => {
      const both = await Promise.all([
        countReasons(id, "failed", signal),
        countReasons(id, "skipped", signal),
      ]);
      return {
        complete: both.every(({ complete }) => complete),
        counts: both.flatMap(({ counts }) => counts).toSorted((a, b) => b.count - a.count),
      };
    },
  });

async function countReasons(id: number, state: "failed" | "skipped", signal: AbortSignal) {
  const counts = new Map<string | null, number>();
  let cursor: string | undefined;
  for (let page = 0; page < pages_max; page++) {
    const query = { limit: 200, state, cursor };
    const { data, next_cursor } = await body(
      api.GET("/api/v1/chat/campaigns/{id}/recipients", {
        params: { path: { id }, query },
        signal,
      }),
    );
    for (const { error } of data) counts.set(error, (counts.get(error) ?? 0) + 1);
    cursor = next_cursor ?? undefined;
    if (!cursor) break;
  }
  const counted: ReasonCount[] = [...counts].map(([error, count]) => ({ state, error, count }));
  return { counts: counted, complete: cursor === undefined };
}

export const templatesQuery = queryOptions({
  queryKey: ["chat-templates"],
  queryFn: async ({ signal }) =>
    (await body(api.GET("/api/v1/chat/templates", { params: { query: { limit: 200 } }, signal })))
      .data,
});

export type Template = Row<"listChatTemplates">;

export const numbersQuery = queryOptions({
  queryKey: ["chat-numbers"],
  queryFn: async ({ signal }) =>
    (await body(api.GET("/api/v1/chat/numbers", { params: { query: { limit: 200 } }, signal })))
      .data,
});
