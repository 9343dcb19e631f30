import { queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { queryClient } from "./query-client.ts";

/** How a flow begins. The document says no more than that it is an object. */
export type Opening = {
  readonly type: "interactive" | "template";
  readonly body?: string;
  readonly buttons?: readonly { readonly id?: string; readonly title: string }[];
  readonly list?: object;
  readonly flow?: object;
  readonly variable_defaults?: Readonly<Record<string, string>>;
};

export type ChatFlow = Omit<Row<"listChatFlows">, "opening"> & { readonly opening: Opening };

const refresh = () => queryClient.invalidateQueries({ queryKey: ["chat-flows"] });

export const chatFlowsQuery = queryOptions({
  queryKey: ["chat-flows"],
  queryFn: async ({ signal }) => {
    const rows = await allRows((query) =>
      body(api.GET("/api/v1/chat/flows", { params: { query }, signal })),
    );
    return rows as unknown as readonly ChatFlow[];
  },
});

export async function createChatFlow(json: Sent<"createChatFlow">, key: string): Promise<void> {
  await api.POST("/api/v1/chat/flows", { params: keyed(key), body: json });
  await refresh();
}

export async function updateChatFlow(id: number, json: Sent<"updateChatFlow">): Promise<void> {
  await api.PATCH("/api/v1/chat/flows/{id}", { params: { path: { id } }, body: json });
  await refresh();
}

export async function deleteChatFlow(id: number): Promise<void> {
  await api.DELETE("/api/v1/chat/flows/{id}", { params: { path: { id } } });
  await refresh();
}
