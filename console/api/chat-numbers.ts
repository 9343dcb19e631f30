import { queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Answer, Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { reloadMe } from "./me.ts";
import { queryClient } from "./query-client.ts";

export type ChatNumber = Row<"listChatNumbers">;
export type Credential = Row<"listWhatsappCredentials">;

const refresh = () => queryClient.invalidateQueries({ queryKey: ["chat-numbers"] });

/** Also reads what sends the account's messages: the sandbox alone, or WhatsApp. */
const refreshNumbers = () => Promise.all([refresh(), reloadMe()]);

export async function createChatNumber(json: Sent<"createChatNumber">, key: string): Promise<void> {
  await api.POST("/api/v1/chat/numbers", { params: keyed(key), body: json });
  await refreshNumbers();
}

export async function updateChatNumber(id: number, json: Sent<"updateChatNumber">): Promise<void> {
  await api.PATCH("/api/v1/chat/numbers/{id}", { params: { path: { id } }, body: json });
  await refreshNumbers();
}

export async function deleteChatNumber(id: number): Promise<void> {
  await api.DELETE("/api/v1/chat/numbers/{id}", { params: { path: { id } } });
  await refreshNumbers();
}

/** Asks the provider for the number's quality. */
export async function syncChatNumber(id: number): Promise<void> {
  await api.POST("/api/v1/chat/numbers/{id}/sync", { params: { path: { id } } });
  await refresh();
}

/** The accounts of the installation with a credential of their own. */
export const credentialsQuery = queryOptions({
  queryKey: ["chat-numbers", "credentials"],
  queryFn: ({ signal }) =>
    allRows((query) =>
      body(api.GET("/api/v1/whatsapp-credentials", { params: { query }, signal })),
    ),
});

export async function updateCredential(
  account_id: number,
  json: Sent<"updateWhatsappCredential">,
): Promise<void> {
  await api.PUT("/api/v1/whatsapp-credentials/{account_id}", {
    params: { path: { account_id } },
    body: json,
  });
  await refresh();
}

export async function deleteCredential(account_id: number): Promise<void> {
  await api.DELETE("/api/v1/whatsapp-credentials/{account_id}", {
    params: { path: { account_id } },
  });
  await refresh();
}

/** Sends one message at once; returns what became of it. */
export function sendTest(json: Sent<"sendChatTest">, key: string): Promise<Answer<"sendChatTest">> {
  return body(api.POST("/api/v1/chat/campaigns/test", { params: keyed(key), body: json }));
}
