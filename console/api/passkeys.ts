import { queryOptions } from "@tanstack/react-query";
import type { Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export const passkeysQuery = queryOptions({
  queryKey: ["passkeys"],
  queryFn: async ({ signal }) => (await body(api.GET("/api/v1/me/passkeys", { signal }))).data,
});

/** The person closed the browser's dialog, or no device answered. */
class NoPasskey extends Error {
  override readonly name = "NoPasskey";
}

/** Makes a passkey with the browser and adds it; `current_password` is empty for a user without one. */
export async function addPasskey(name: string, current_password: string): Promise<void> {
  const { options } = await body(
    api.POST("/api/v1/me/passkeys/options", {
      body: current_password === "" ? {} : { current_password },
    }),
  );
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const made = await answered(navigator.credentials.create({ publicKey }));
  const response = made.toJSON() as unknown as Sent<"createPasskey">["response"];
  await api.POST("/api/v1/me/passkeys", { body: { name, response } });
  await queryClient.invalidateQueries({ queryKey: passkeysQuery.queryKey });
}

export async function removePasskey(id: number): Promise<void> {
  await api.DELETE("/api/v1/me/passkeys/{id}", { params: { path: { id } } });
  await queryClient.invalidateQueries({ queryKey: passkeysQuery.queryKey });
}

/** Removes every passkey of another user, whose sessions end. */
export async function removePasskeysOf(id: number): Promise<void> {
  await api.DELETE("/api/v1/users/{id}/passkeys", { params: { path: { id } } });
  await queryClient.invalidateQueries({ queryKey: ["users"] });
}

/** Lets the person choose a passkey of this host, and returns what it signed. */
export async function signWithPasskey(): Promise<Sent<"createSessionByPasskey">["response"]> {
  const { options } = await body(api.POST("/api/v1/session/passkey/options"));
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  const chosen = await answered(navigator.credentials.get({ publicKey }));
  return chosen.toJSON() as unknown as Sent<"createSessionByPasskey">["response"];
}

/** Reports whether this browser makes passkeys. */
export const canUsePasskeys = (): boolean =>
  typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential;

async function answered(asked: Promise<Credential | null>): Promise<PublicKeyCredential> {
  const credential = await asked.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "InvalidStateError")
      throw new NoPasskey("This device has a passkey for you already.");
    throw new NoPasskey("No passkey was used. Try again.", { cause: error });
  });
  if (credential instanceof PublicKeyCredential) return credential;
  throw new NoPasskey("No passkey was used. Try again.");
}
