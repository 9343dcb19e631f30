// The WhatsApp driver of the validated API, and valid requests of Meta to it. Sends nothing.
import { createHmac } from "node:crypto";
import { openMetaAccess, openMetaDriver } from "../../server/drivers/chat/meta/open-meta-driver.ts";
import type { RequestOptions } from "../support/api.ts";

const app_secret = "test-secret";
const verify_token = "test-token";

const api_url = "http://127.0.0.1:9/v23.0";
export const whatsappAccess = openMetaAccess({ api_url });
export const whatsapp = openMetaDriver({
  api_url,
  access_token: "test",
  app_secret,
  verify_token,
});

const webhook = JSON.stringify({ object: "whatsapp_business_account", entry: [] });
const signature = createHmac("sha256", app_secret).update(webhook).digest("hex");

/** The credential of an account with a Meta app of its own. */
export const own_credential = { access_token: "test", app_secret, verify_token };

type HookRequests = Readonly<Record<string, { path: string; options: RequestOptions }>>;

/** Returns valid requests to the provider's routes, by route ID; `account_id` has the credential. */
export function hookRequests(account_id: number): HookRequests {
  const challenge = `hub.mode=subscribe&hub.verify_token=${verify_token}&hub.challenge=42`;
  const signed = {
    raw: webhook,
    headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` },
  };
  const own = `/hooks/whatsapp/${account_id}`;
  return {
    subscribeWhatsappHook: { path: `/hooks/whatsapp?${challenge}`, options: {} },
    takeWhatsappHook: { path: "/hooks/whatsapp", options: signed },
    subscribeOwnWhatsappHook: { path: `${own}?${challenge}`, options: {} },
    takeOwnWhatsappHook: { path: own, options: signed },
  };
}
