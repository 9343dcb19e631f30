import { queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export type SavedView = Row<"listSavedViews">;

/** The own ones and those that are shared. */
export const savedViewsQuery = (page: string) =>
  queryOptions({
    queryKey: ["saved-views", page],
    queryFn: ({ signal }) =>
      allRows((at) =>
        body(api.GET("/api/v1/saved-views", { params: { query: { page, ...at } }, signal })),
      ),
  });

const refresh = () => queryClient.invalidateQueries({ queryKey: ["saved-views"] });

/** Saves a view; returns its ID. Throws ApiProblem. */
export async function createSavedView(view: Sent<"createSavedView">): Promise<number> {
  const { id } = await body(api.POST("/api/v1/saved-views", { body: view }));
  await refresh();
  return id;
}

export async function updateSavedView(id: number, patch: Sent<"updateSavedView">): Promise<void> {
  await api.PATCH("/api/v1/saved-views/{id}", { params: { path: { id } }, body: patch });
  await refresh();
}

export async function deleteSavedView(id: number): Promise<void> {
  await api.DELETE("/api/v1/saved-views/{id}", { params: { path: { id } } });
  await refresh();
}
