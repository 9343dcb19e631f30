// Writes Meta's webhooks and their signatures.
import { createHmac } from "node:crypto";
import {
  openMetaDriver,
  type MetaDriver,
} from "../../server/drivers/chat/meta/open-meta-driver.ts";
import type { TestChatNumber } from "./chat-factory.ts";

export const app_secret = "test-app-secret";
export const verify_token = "test-verify-token";

/** Opens the WhatsApp driver with the tests' secrets; its provider is unreachable. */
export function openTestWhatsapp(): MetaDriver {
  return openMetaDriver({
    api_url: "http://127.0.0.1:9",
    access_token: "none",
    app_secret,
    verify_token,
  });
}

/** Returns the signature header of a body. */
export function signatureOf(raw: string | Buffer, secret = app_secret): string {
  return `sha256=${createHmac("sha256", secret).update(raw).digest("hex")}`;
}

export type TestStatus = {
  readonly id: string;
  readonly status: "sent" | "delivered" | "read" | "failed";
  readonly message_id?: string;
  readonly at?: Date;
  readonly code?: number;
  /** The recipient's number. */
  readonly to?: string;
};

export type TestMessage = {
  readonly id: string;
  readonly from: string;
  readonly text: string;
  readonly answers?: string;
  readonly at?: Date;
};

const seconds = (at = new Date()) => String(Math.floor(at.getTime() / 1_000));

/** Returns a webhook with one change, about the number unless `value` names another. */
export function changeHook(number: TestChatNumber, field: string, value: object): string {
  const id = number.business_account_id;
  return JSON.stringify({
    object: "whatsapp_business_account",
    entry: [{ id, changes: [{ field, value }] }],
  });
}

function metadataOf({ provider_phone_number_id }: TestChatNumber) {
  return {
    messaging_product: "whatsapp",
    metadata: {
      display_phone_number: "919000000000",
      phone_number_id: provider_phone_number_id,
    },
  };
}

/** Returns a webhook with delivery statuses of the number's messages. */
export function statusHook(number: TestChatNumber, statuses: readonly TestStatus[]): string {
  return changeHook(number, "messages", {
    ...metadataOf(number),
    statuses: statuses.map(({ id, status, message_id, at, code, to = "919812345678" }) => ({
      id,
      status,
      timestamp: seconds(at),
      recipient_id: to,
      ...(message_id === undefined ? {} : { biz_opaque_callback_data: message_id }),
      ...(code === undefined ? {} : { errors: [{ code, title: "It failed" }] }),
    })),
  });
}

/** Returns a webhook with customers' messages to the number. */
export function messageHook(number: TestChatNumber, messages: readonly TestMessage[]): string {
  return changeHook(number, "messages", {
    ...metadataOf(number),
    contacts: messages.map(({ from }) => ({ wa_id: from, profile: { name: "A customer" } })),
    messages: messages.map(({ id, from, text, answers, at }) => ({
      id,
      from,
      timestamp: seconds(at),
      type: "text",
      text: { body: text },
      ...(answers === undefined ? {} : { context: { from: "919000000000", id: answers } }),
    })),
  });
}

/** Returns a webhook with a customer's marketing preference in WhatsApp. */
export function preferenceHook(
  number: TestChatNumber,
  preference: { from: string; value: "stop" | "resume"; at?: Date },
): string {
  return changeHook(number, "user_preferences", {
    ...metadataOf(number),
    user_preferences: [
      {
        wa_id: preference.from,
        detail: "The customer decided about marketing messages",
        category: "marketing_messages",
        value: preference.value,
        timestamp: seconds(preference.at),
      },
    ],
  });
}
