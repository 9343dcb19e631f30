import { queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { reloadMe } from "./me.ts";
import { queryClient } from "./query-client.ts";

export type AgentGroup = Row<"listAgentGroups">;
export type AgentMember = Row<"listAgentGroupMembers">;
export type Extension = Row<"listExtensions">;

export const agentGroupsQuery = queryOptions({
  queryKey: ["agent-groups"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/agent-groups", { params: { query }, signal }))),
});

/** The members in the order in which they are rung; a group has at most 200. */
export const agentMembersQuery = (id: number) =>
  queryOptions({
    queryKey: ["agent-groups", id, "members"],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/agent-groups/{id}/members", {
            params: { path: { id }, query: { limit: 200 } },
            signal,
          }),
        )
      ).data,
  });

/** Sets whether an agent is away from every group. */
export async function updateAvailability(number: string, away: boolean): Promise<void> {
  await api.PUT("/api/v1/agent-availability/{number}", {
    params: { path: { number } },
    body: { away },
  });
  await queryClient.invalidateQueries({ queryKey: ["agent-groups"] });
}

/** Sets whether one is away oneself. */
export async function updateOwnAvailability(away: boolean): Promise<void> {
  await api.PUT("/api/v1/me/availability", { body: { away } });
  await Promise.all([reloadMe(), queryClient.invalidateQueries({ queryKey: ["agent-groups"] })]);
}

export const extensionsQuery = queryOptions({
  queryKey: ["extensions"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/extensions", { params: { query }, signal }))),
});

/** Creates an extension, or changes one. */
export async function saveExtension(
  id: number | null,
  json: Omit<Sent<"createExtension">, "endpoint">,
  key: string,
): Promise<void> {
  await (id === null
    ? api.POST("/api/v1/extensions", { params: keyed(key), body: json })
    : api.PATCH("/api/v1/extensions/{id}", {
        params: { path: { id }, ...keyed(key) },
        body: json,
      }));
  await queryClient.invalidateQueries({ queryKey: ["extensions"] });
}

/** Creates a group of agents, or renames one. */
export async function saveAgentGroup(
  id: number | null,
  json: Sent<"createAgentGroup">,
  key: string,
): Promise<void> {
  await (id === null
    ? api.POST("/api/v1/agent-groups", { params: keyed(key), body: json })
    : api.PATCH("/api/v1/agent-groups/{id}", {
        params: { path: { id }, ...keyed(key) },
        body: json,
      }));
  await queryClient.invalidateQueries({ queryKey: ["agent-groups"] });
}
