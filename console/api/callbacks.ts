import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Answer, Row } from "./answer.ts";
import type { webhooks } from "./api-types.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";

export type Endpoint = Row<"listCallbackEndpoints">;
export type Delivery = Row<"listCallbackDeliveries">;
export type DeliveryDetail = Answer<"readCallbackDelivery">;
export type DeliveryState = Delivery["state"];
export type EventName = keyof webhooks;
export type Replay = Row<"listCallbackReplays">;

/** Deliveries have no events of their own. */
const refresh_ms = 5_000;
const progress_ms = 1_000;

export const eventTypesQuery = queryOptions({
  queryKey: ["event-types"],
  queryFn: async ({ signal }) =>
    (await body(api.GET("/api/v1/callbacks/event-types", { signal }))).data,
  staleTime: "static",
});

export const endpointsQuery = infiniteQueryOptions({
  queryKey: ["callback-endpoints", "list"],
  queryFn: ({ pageParam, signal }) =>
    pageWithRows(pageParam, (cursor) =>
      body(
        api.GET("/api/v1/callbacks/endpoints", {
          params: { query: { limit: 100, cursor } },
          signal,
        }),
      ),
    ),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

export const endpointQuery = (id: number) =>
  queryOptions({
    queryKey: ["callback-endpoints", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/callbacks/endpoints/{id}", { params: { path: { id } }, signal })),
  });

export type DeliveryFilter = {
  readonly state?: DeliveryState;
  readonly type?: EventName;
};

export const deliveriesQuery = (endpoint_id: number, filter: DeliveryFilter) =>
  infiniteQueryOptions({
    queryKey: ["callback-deliveries", endpoint_id, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/callbacks/deliveries", {
          params: { query: { limit: 50, endpoint_id, ...filter, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    // It takes a request for each page that was loaded.
    refetchInterval: ({ state }) => refresh_ms * (state.data?.pages.length ?? 1),
  });

export const deliveryQuery = (id: number) =>
  queryOptions({
    queryKey: ["callback-delivery", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/callbacks/deliveries/{id}", { params: { path: { id } }, signal })),
  });

/** The newest replays to an endpoint. */
export const replaysQuery = (endpoint_id: number) =>
  queryOptions({
    queryKey: ["callback-replays", endpoint_id],
    queryFn: async ({ signal }) => {
      const query = { endpoint_id, limit: 5 };
      return (await body(api.GET("/api/v1/callbacks/replays", { params: { query }, signal }))).data;
    },
    refetchInterval: ({ state }) =>
      state.data?.some((replay) => replay.state === "processing") ? progress_ms : false,
  });
