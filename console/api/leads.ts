import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { pageWithRows } from "./page-with-rows.ts";
import { queryClient } from "./query-client.ts";

export type LeadFilter = {
  readonly status?: number;
  readonly source?: number;
  readonly priority?: number;
  readonly agent?: number;
  readonly q?: string;
};

/** Every workspace, also those that are inactive. */
export const allWorkspacesQuery = queryOptions({
  queryKey: ["workspaces"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/crm/workspaces", { params: { query }, signal }))),
});

/** The workspaces that have leads. */
export const workspacesQuery = queryOptions({
  ...allWorkspacesQuery,
  select: (workspaces) => workspaces.filter(({ active }) => active),
});

export type Workspace = Row<"listWorkspaces">;

/** Creates a workspace, or changes one. */
export async function saveWorkspace(
  workspaceId: number | null,
  json: Sent<"createWorkspace"> & { readonly active: boolean },
  key: string,
): Promise<void> {
  await (workspaceId === null
    ? api.POST("/api/v1/crm/workspaces", { params: keyed(key), body: json })
    : api.PATCH("/api/v1/crm/workspaces/{workspaceId}", {
        params: { path: { workspaceId }, ...keyed(key) },
        body: json,
      }));
  await queryClient.invalidateQueries({ queryKey: ["workspaces"] });
}

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
    queryFn: ({ signal }) =>
      allRows((query) => {
        const params = { path: { workspaceId }, query };
        return body(api.GET("/api/v1/crm/workspaces/{workspaceId}/agents", { params, signal }));
      }),
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
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/crm/workspaces/{workspaceId}/leads", {
            params: { path: { workspaceId }, query: { ...query, limit: 50, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
};
