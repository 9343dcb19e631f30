import type { ReplyEvent } from "./sort-webhooks.ts";

/** Returns replies as record_chat_replies takes them. */
export function replyRows(replies: readonly ReplyEvent[], opted_out: boolean) {
  return replies.map(({ from, ...reply }) => ({ ...reply, phone: from, opted_out }));
}
