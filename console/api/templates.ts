import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Sent } from "./answer.ts";
import type { Template } from "./chat.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";
import { queryClient } from "./query-client.ts";
import { upload } from "./upload.ts";

export type TemplateStatus = Template["status"];

/** The body that submits a template. */
export type NewTemplate = Sent<"createChatTemplate">;

export const templateListQuery = (status: TemplateStatus | undefined) =>
  infiniteQueryOptions({
    queryKey: ["chat-templates", "list", { status }],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/chat/templates", {
            params: { query: { limit: 50, status, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

export const templateQuery = (id: number) =>
  queryOptions({
    queryKey: ["chat-templates", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/chat/templates/{id}", { params: { path: { id } }, signal })),
  });

const refresh = () => queryClient.invalidateQueries({ queryKey: ["chat-templates"] });

/** Submits a template for the provider's approval; returns it. */
export async function submitTemplate(template: NewTemplate): Promise<Template> {
  const submitted = await body(api.POST("/api/v1/chat/templates", { body: template }));
  await refresh();
  return submitted;
}

/** Fetches the templates of a number's business account; returns how many the provider has. */
export async function syncTemplates(chat_number_id: number): Promise<number> {
  const { total } = await body(
    api.POST("/api/v1/chat/templates/sync", { body: { chat_number_id } }),
  );
  await refresh();
  return total;
}

/** Deletes a template in all its languages, also at the provider. */
export async function deleteTemplate(id: number): Promise<void> {
  await api.DELETE("/api/v1/chat/templates/{id}", { params: { path: { id } } });
  await refresh();
}

/** Changes what campaigns created from now on send with a template. */
export async function updateTemplate(id: number, json: Sent<"updateChatTemplate">): Promise<void> {
  await api.PATCH("/api/v1/chat/templates/{id}", { params: { path: { id } }, body: json });
  await refresh();
}

/** Uploads a file by a number of the template's business account, and sends it with the template from now on. */
export async function setHeaderMedia(
  id: number,
  chat_number_id: number,
  file: File,
  onProgress: (percent: number) => void,
): Promise<void> {
  const stored = await upload(
    "/api/v1/chat/numbers/{id}/media",
    { file },
    { params: { id: chat_number_id }, onProgress },
  );
  await updateTemplate(id, { header_media: { id: stored.id } });
}
