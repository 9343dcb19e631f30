// The WhatsApp driver of the validated API, and valid requests of Meta to it. Sends nothing.
import { createHmac } from "node:crypto";
import { openMetaDriver } from "../../server/drivers/chat/meta/open-meta-driver.ts";
import type { RequestOptions } from "../support/api.ts";

const app_secret = "test-secret";
const verify_token = "test-token";

export const whatsapp = openMetaDriver({
  api_url: "http://127.0.0.1:9/v23.0",
  access_token: "test",
  app_secret,
  verify_token,
});

const webhook = JSON.stringify({ object: "whatsapp_business_account", entry: [] });
const signature = createHmac("sha256", app_secret).update(webhook).digest("hex");

/** Valid requests to the provider's routes, by route ID. */
export const hookRequests: Readonly<Record<string, { path: string; options: RequestOptions }>> = {
  subscribeWhatsappHook: {
    path: `/hooks/whatsapp?hub.mode=subscribe&hub.verify_token=${verify_token}&hub.challenge=42`,
    options: {},
  },
  takeWhatsappHook: {
    path: "/hooks/whatsapp",
    options: {
      raw: webhook,
      headers: {
        "content-type": "application/json",
        "x-hub-signature-256": `sha256=${signature}`,
      },
    },
  },
};
