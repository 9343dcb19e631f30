import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, body } from "./client.ts";

export type LeadFilter = { readonly status?: number; readonly q?: string };

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

export const leadsQuery = (workspaceId: number, { status: statusId, q }: LeadFilter) =>
  infiniteQueryOptions({
    queryKey: ["leads", workspaceId, { statusId, q }],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/leads", {
          params: { path: { workspaceId }, query: { limit: 50, statusId, q, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
