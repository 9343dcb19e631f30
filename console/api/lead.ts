import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { queryClient } from "./query-client.ts";

/** Where a lead is, as the paths of the API name it. */
export type LeadPlace = { readonly workspaceId: number; readonly leadId: number };

export const leadQuery = (place: LeadPlace) =>
  queryOptions({
    queryKey: ["lead", place],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/leads/{leadId}", {
          params: { path: place },
          signal,
        }),
      ),
  });

export const leadTimelineQuery = (place: LeadPlace) =>
  infiniteQueryOptions({
    queryKey: ["lead", place, "timeline"],
    queryFn: ({ pageParam: cursor, signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/leads/{leadId}/timeline", {
          params: { path: place, query: { limit: 50, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });

/** Creates a lead and returns its ID. A repetition with the same key creates no other. Throws ApiProblem. */
export async function createLead(
  workspaceId: number,
  lead: Sent<"createLead">,
  key: string,
): Promise<number> {
  const { id } = await body(
    api.POST("/api/v1/crm/workspaces/{workspaceId}/leads/create", {
      params: { path: { workspaceId }, ...keyed(key) },
      body: lead,
    }),
  );
  await queryClient.invalidateQueries({ queryKey: ["leads", workspaceId] });
  return id;
}

/** Makes the same change to each of the leads; returns how many changed. Throws ApiProblem. */
export async function changeLeads(
  workspaceId: number,
  patch: Sent<"updateLeads">,
): Promise<number> {
  const { updated } = await body(
    api.PATCH("/api/v1/crm/workspaces/{workspaceId}/leads", {
      params: { path: { workspaceId } },
      body: patch,
    }),
  );
  await queryClient.invalidateQueries({ queryKey: ["leads", workspaceId] });
  return updated;
}

/** Changes a lead; what was read of it is read again. Throws ApiProblem. */
export async function changeLead(place: LeadPlace, patch: Sent<"updateLead">): Promise<void> {
  const lead = await body(
    api.PATCH("/api/v1/crm/workspaces/{workspaceId}/leads/{leadId}", {
      params: { path: place },
      body: patch,
    }),
  );
  queryClient.setQueryData(leadQuery(place).queryKey, lead);
  refreshLead(place);
}

export async function addNote(place: LeadPlace, text: string, key: string): Promise<void> {
  await api.POST("/api/v1/crm/workspaces/{workspaceId}/leads/{leadId}/notes", {
    params: { path: place, ...keyed(key) },
    body: { text },
  });
  refreshLead(place);
}

export async function addCollaborator(place: LeadPlace, userId: number): Promise<void> {
  await api.PUT("/api/v1/crm/workspaces/{workspaceId}/leads/{leadId}/collaborators/{userId}", {
    params: { path: { ...place, userId } },
  });
  refreshLead(place);
}

export async function removeCollaborator(place: LeadPlace, userId: number): Promise<void> {
  await api.DELETE("/api/v1/crm/workspaces/{workspaceId}/leads/{leadId}/collaborators/{userId}", {
    params: { path: { ...place, userId } },
  });
  refreshLead(place);
}

function refreshLead(place: LeadPlace): void {
  void queryClient.invalidateQueries({ queryKey: ["lead", place] });
  void queryClient.invalidateQueries({ queryKey: ["leads", place.workspaceId] });
}
