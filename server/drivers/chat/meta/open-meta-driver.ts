// The chat driver of the WhatsApp Cloud API. Each call names its number or business account.
import {
  ChatSendError,
  type Accepted,
  type ChatDriver,
  type ChatSender,
  type Outgoing,
  type ProviderNumber,
  type WebhookGuard,
  type WhatsappAccess,
} from "../driver.ts";
import { openGraphApi, type GraphClient } from "./graph-client.ts";
import { asMessageId, asRecord, asText } from "./json.ts";
import { messageBody } from "./message-body.ts";
import { readNumber } from "./read-person.ts";
import { readWebhook } from "./read-webhook.ts";
import { createTemplate, deleteTemplate, listTemplates, readQuality } from "./templates.ts";
import { uploadMedia } from "./upload-media.ts";
import { challengeAnswer, isSignedBy } from "./webhook-signature.ts";

const send_timeout_ms = 30_000;

export type MetaSettings = {
  /** With the version, such as https://graph.facebook.com/v23.0. */
  readonly api_url: string;
  readonly access_token: string;
  /** The key that signs webhooks. */
  readonly app_secret: string;
  /** The token that the operator gave Meta when subscribing to webhooks. */
  readonly verify_token: string;
  /** The limit for one message, from the call to the last byte of the response; 30 s by default. */
  readonly send_timeout_ms?: number;
};

export type MetaDriver = ChatDriver & WebhookGuard;

export type MetaAccess = WhatsappAccess & {
  /** Closes the connections of all drivers. */
  close(): Promise<void>;
};

/**
 * Opens the API for any credentials; it connects on first use. A message that Meta holds back
 * (`held_for_quality_assessment`, `paused`) counts as accepted, because its delivery statuses follow. After a response
 * without a message ID or a Graph error, the outcome is unknown.
 */
export function openMetaAccess(
  settings: Pick<MetaSettings, "api_url" | "send_timeout_ms">,
): MetaAccess {
  const { api_url } = settings;
  const api = openGraphApi({ api_url, timeout_ms: settings.send_timeout_ms ?? send_timeout_ms });
  return {
    driverWith(access_token) {
      const client = api.clientWith(access_token);
      return {
        send: (from, outgoing, signal) => send(client, from, outgoing, signal),
        listTemplates: (account) => listTemplates(client, account),
        createTemplate: (account, draft) => createTemplate(client, account, draft),
        deleteTemplate: (account, name) => deleteTemplate(client, account, name),
        findNumber: (from) => findNumber(client, from),
        uploadMedia: (from, file) => uploadMedia(client, from, file),
        readWebhook,
        close: async () => {},
      };
    },
    guardWith: ({ app_secret, verify_token }) => ({
      verifySignature: (raw, header) => isSignedBy(app_secret, raw, header),
      answerChallenge: (query) => challengeAnswer(verify_token, query),
    }),
    readWebhook,
    close: () => api.close(),
  };
}

/** Opens the driver with one credential. */
export function openMetaDriver(settings: MetaSettings): MetaDriver {
  const access = openMetaAccess(settings);
  const driver = access.driverWith(settings.access_token);
  return { ...driver, ...access.guardWith(settings), close: () => access.close() };
}

async function send(
  client: GraphClient,
  from: ChatSender,
  outgoing: Outgoing,
  signal: AbortSignal | undefined,
): Promise<Accepted> {
  const marketing = outgoing.route === "marketing" && outgoing.message.kind === "template";
  const endpoint = marketing ? "marketing_messages" : "messages";
  const answer = await client.call({
    business_account_id: from.business_account_id,
    method: "POST",
    path: `/${encodeURIComponent(from.phone_number_id)}/${endpoint}`,
    body: messageBody(outgoing),
    signal,
    begin_by_ms: outgoing.begin_by_ms,
  });
  const messages = answer["messages"];
  const provider_message_id = Array.isArray(messages)
    ? asMessageId(asRecord(messages[0])?.["id"])
    : null;
  if (provider_message_id === null) {
    throw new ChatSendError("unknown", "the response has no message ID");
  }
  const contacts = answer["contacts"];
  const wa_id = Array.isArray(contacts) ? readNumber(asRecord(contacts[0])?.["wa_id"]) : null;
  return { provider_message_id, ...(wa_id === null ? {} : { wa_id }) };
}

async function findNumber(client: GraphClient, from: ChatSender): Promise<ProviderNumber> {
  const number = `/${encodeURIComponent(from.phone_number_id)}`;
  const { business_account_id } = from;
  const account = `/${encodeURIComponent(business_account_id)}`;
  const [found, owner] = await Promise.all([
    client.call({
      business_account_id,
      method: "GET",
      path: `${number}?fields=id,display_phone_number,verified_name,quality_rating`,
    }),
    client.call({
      business_account_id,
      method: "GET",
      path: `${account}?fields=id,marketing_messages_onboarding_status`,
    }),
  ]);
  const phone_number = asText(found["display_phone_number"])?.replaceAll(/\D/g, "");
  if (!phone_number) throw new ChatSendError("unknown", "the response has no phone number");
  return {
    phone_number_id: from.phone_number_id,
    phone_number,
    name: asText(found["verified_name"]) ?? "",
    quality: readQuality(found["quality_rating"]),
    marketing_onboarded: owner["marketing_messages_onboarding_status"] === "ONBOARDED",
  };
}
