import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Answer, Row } from "./answer.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";

export type Campaign = Row<"listChatCampaigns">;
export type CampaignDetail = Answer<"readChatCampaign">;
export type Recipient = Row<"listChatRecipients">;
export type CampaignStatus = Campaign["status"];
export type RecipientState = Recipient["state"];

export const campaignsQuery = (status: CampaignStatus | undefined) =>
  infiniteQueryOptions({
    queryKey: ["chat-campaigns", "list", { status }],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/chat/campaigns", {
            params: { query: { limit: 50, status, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** The ten newest campaigns with a template. */
export const campaignsOfTemplateQuery = (template_id: number) =>
  queryOptions({
    queryKey: ["chat-campaigns", "of template", template_id],
    queryFn: async ({ signal }) => {
      const { data } = await pageWithRows(undefined, (cursor) =>
        body(
          api.GET("/api/v1/chat/campaigns", {
            params: { query: { template_id, limit: 10, cursor } },
            signal,
          }),
        ),
      );
      return data;
    },
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
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/chat/campaigns/{id}/recipients", {
            params: { path: { id }, query: { limit: 100, ...filter, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** How many recipients failed or were skipped for each reason; `is_more` if there may be more than were counted. */
export const failuresQuery = (id: number) =>
  queryOptions({
    queryKey: ["chat-recipients", id, "failures"],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/chat/campaigns/{id}/failures", { params: { path: { id } }, signal }),
        )
      ).data,
  });

export type Failure = Row<"readChatCampaignFailures">;

/** What the campaign sent in each of the last `minutes`; minutes without messages are missing. */
export const paceQuery = (id: number, minutes: number) =>
  queryOptions({
    queryKey: ["chat-recipients", id, "pace", minutes],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/chat/campaigns/{id}/pace", {
            params: { path: { id }, query: { minutes } },
            signal,
          }),
        )
      ).data,
  });

/** What a recipient answered, oldest first. */
export const recipientRepliesQuery = (id: number, { id: recipient_id, phone_number }: Recipient) =>
  queryOptions({
    queryKey: ["chat-replies", id, recipient_id],
    queryFn: async ({ signal }) => {
      const query = { limit: 50, ...(phone_number === null ? {} : { phone_number }) };
      const { data } = await body(
        api.GET("/api/v1/chat/campaigns/{id}/replies", {
          params: { path: { id }, query },
          signal,
        }),
      );
      return data.filter((reply) => reply.recipient_id === recipient_id).toReversed();
    },
  });

export const templatesQuery = queryOptions({
  queryKey: ["chat-templates"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/chat/templates", { params: { query }, signal }))),
});

export type Template = Row<"listChatTemplates">;

export const numbersQuery = queryOptions({
  queryKey: ["chat-numbers"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/chat/numbers", { params: { query }, signal }))),
});
