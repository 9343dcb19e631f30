import type { ReplyReport } from "./sort-webhooks.ts";

/** Replies as record_chat_replies takes them. */
export function replyRows(replies: readonly ReplyReport[], opted_out: boolean) {
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
