import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client.ts";

export const agentGroupsQuery = queryOptions({
  queryKey: ["agent-groups"],
  queryFn: async ({ signal }) =>
    (await body(api.GET("/api/v1/agent-groups", { params: { query: { limit: 200 } }, signal })))
      .data,
});
