import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";
import { queryClient } from "./query-client.ts";

export type Contact = Row<"listContacts">;

export const contactsQuery = (workspaceId: number, q: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["contacts", workspaceId, { q }],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/crm/workspaces/{workspaceId}/contacts", {
            params: { path: { workspaceId }, query: { limit: 50, q, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });

export async function updateContact(
  { id: contactId, workspaceId }: Contact,
  json: Sent<"updateContact">,
): Promise<void> {
  await api.PATCH("/api/v1/crm/workspaces/{workspaceId}/contacts/{contactId}", {
    params: { path: { workspaceId, contactId } },
    body: json,
  });
  await queryClient.invalidateQueries({ queryKey: ["contacts"] });
}
