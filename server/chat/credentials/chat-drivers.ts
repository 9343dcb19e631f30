// The driver of an account: with its own credential where it has one, otherwise with the installation's.
import type { ChatDriver, ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { credentialPlace } from "./internal/credential-place.ts";

/** An account and its sealed access token, if it has one of its own. */
export type CredentialHolder = {
  readonly account_id: number;
  readonly access_token: string | null;
};

/** Returns the driver with the credential of the account; undefined if it is not configured in this process. */
export function chatDriverFor(
  app: Pick<App, "chatDrivers" | "secrets">,
  name: ChatDriverName,
  { account_id, access_token }: CredentialHolder,
): ChatDriver | undefined {
  if (name !== "whatsapp" || access_token === null) return app.chatDrivers[name];
  // Never with another credential: it could reach the numbers of others.
  const token = app.secrets.open(credentialPlace("access_token", account_id), access_token);
  return app.chatDrivers.whatsappAccess?.driverWith(token.toString());
}

/** Reads the account's credential and returns its driver, as chatDriverFor does. */
export async function findChatDriver(
  app: Pick<App, "db" | "chatDrivers" | "secrets">,
  name: ChatDriverName,
  account_id: number,
): Promise<ChatDriver | undefined> {
  if (name !== "whatsapp") return app.chatDrivers[name];
  const own = await app.db.query
    .selectFrom("whatsapp_credentials")
    .select("access_token")
    .where("account_id", "=", account_id)
    .executeTakeFirst();
  return chatDriverFor(app, name, { account_id, access_token: own?.access_token ?? null });
}
