import type { ReplyEvent } from "./sort-webhooks.ts";

/** Returns replies as record_chat_replies takes them. */
export function replyRows(replies: readonly ReplyEvent[], opted_out: boolean) {
  return replies.map(({ provider_message_id, from, at, type, text, payload, answers }) => ({
    provider_message_id,
    phone: from,
    type,
    text,
    payload,
    answers,
    opted_out,
    at,
  }));
}
