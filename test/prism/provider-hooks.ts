// WhatsApp as the judged API has it configured, and what Meta would ask of it. Nothing goes out.
import { createHmac } from "node:crypto";
import { openMetaDriver } from "../../server/drivers/chat/meta/open-meta-driver.ts";
import type { RequestOptions } from "../support/api.ts";

const app_secret = "judged-secret";
const verify_token = "judged-token";

export const whatsapp = openMetaDriver({
  api_url: "http://127.0.0.1:9/v23.0",
  access_token: "judged",
  app_secret,
  verify_token,
});

const webhook = JSON.stringify({ object: "whatsapp_business_account", entry: [] });
const signature = createHmac("sha256", app_secret).update(webhook).digest("hex");

/** Right requests of the routes that only a provider may ask, by the route's id. */
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
