import { queryOptions } from "@tanstack/react-query";
import { api, body } from "./client.ts";

export const groupsQuery = queryOptions({
  queryKey: ["groups"],
  queryFn: async ({ signal }) =>
    (await body(api.GET("/api/v1/groups", { params: { query: { limit: 200 } }, signal }))).data,
});
