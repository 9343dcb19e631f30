import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client.ts";

export type LeadFilter = {
  readonly status?: number;
  readonly source?: number;
  readonly priority?: number;
  readonly agent?: number;
  readonly q?: string;
};

export const workspacesQuery = queryOptions({
  queryKey: ["workspaces"],
  queryFn: async ({ signal }) => {
    const params = { query: { limit: 200 } };
    return (await body(api.GET("/api/v1/crm/workspaces", { params, signal }))).data;
  },
});

export const picklistsQuery = (workspaceId: number) =>
  queryOptions({
    queryKey: ["picklists", workspaceId],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/picklists", {
          params: { path: { workspaceId } },
          signal,
        }),
      ),
  });

export const agentsQuery = (workspaceId: number) =>
  queryOptions({
    queryKey: ["agents", workspaceId],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId }, query: { limit: 200 } };
      return (
        await body(api.GET("/api/v1/crm/workspaces/{workspaceId}/agents", { params, signal }))
      ).data;
    },
    staleTime: 60_000,
  });

export const customFieldsQuery = (workspaceId: number) =>
  queryOptions({
    queryKey: ["custom-fields", workspaceId],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/crm/workspaces/{workspaceId}/custom-fields", {
            params: { path: { workspaceId } },
            signal,
          }),
        )
      ).data,
    staleTime: 60_000,
  });

export const leadsQuery = (workspaceId: number, filter: LeadFilter) => {
  const { status: statusId, source: sourceId, priority: priorityId, q } = filter;
  const query = { statusId, sourceId, priorityId, assignedAgentId: filter.agent, q };
  return infiniteQueryOptions({
    queryKey: ["leads", workspaceId, query],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/leads", {
          params: { path: { workspaceId }, query: { ...query, limit: 50, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
};
