import { queryOptions } from "@tanstack/react-query";
import type { Answer } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export type NewTotp = Answer<"createTotp">;

export const totpQuery = queryOptions({
  queryKey: ["totp"],
  queryFn: ({ signal }) => body(api.GET("/api/v1/me/totp", { signal })),
});

/** Begins to set up an app; the password is the current one, where there is one. */
export const createTotp = (current_password: string): Promise<NewTotp> =>
  body(api.POST("/api/v1/me/totp", { body: current_password === "" ? {} : { current_password } }));

/** Confirms the app and returns the recovery codes. */
export async function confirmTotp(code: string): Promise<readonly string[]> {
  const { recovery_codes } = await body(api.PUT("/api/v1/me/totp", { body: { code } }));
  return recovery_codes;
}

export async function removeTotp(code: string): Promise<void> {
  await api.POST("/api/v1/me/totp/removal", { body: { code } });
  await queryClient.invalidateQueries({ queryKey: totpQuery.queryKey });
}

/** Removes the app of another user. */
export async function removeTotpOf(id: number): Promise<void> {
  await api.DELETE("/api/v1/users/{id}/totp", { params: { path: { id } } });
  await queryClient.invalidateQueries({ queryKey: ["users"] });
}
