import type { Tx } from "../lib/database.ts";

/** Every kind of news that callbacks and the console can be told of (design: Callbacks). */
export type EventType =
  | "lead.created"
  | "lead.updated"
  | "chat.campaign.created"
  | "chat.campaign.started"
  | "chat.campaign.paused"
  | "chat.campaign.resumed"
  | "chat.campaign.completed"
  | "chat.campaign.cancelled"
  | "chat.campaign.failed"
  | "voice.campaign.created"
  | "voice.campaign.started"
  | "voice.campaign.paused"
  | "voice.campaign.resumed"
  | "voice.campaign.completed"
  | "voice.campaign.cancelled"
  | "voice.campaign.failed"
  | "chat.template.updated"
  | "chat.optout"
  // Inserted by chat_apply_moves(), while an endpoint wants them.
  | "chat.message.sent"
  | "chat.message.delivered"
  | "chat.message.read"
  | "chat.message.failed"
  // Inserted by draw_credits().
  | "credit.low"
  | "callback.endpoint.disabled"
  // To the one endpoint that it names.
  | "callback.test"
  // Of calls, write_call() inserts them: server/calls/life/news.ts.
  | "call.initiated"
  | "call.ringing"
  | "call.answered"
  | "call.dtmf"
  | "call.bridged"
  | "call.transferring"
  | "call.transferred"
  | "call.completed"
  | "call.recording.ready";

/**
 * Records what happened, in the transaction of the change: it is told exactly when that commits.
 * Returns the event's id.
 */
export async function recordEvent(
  tx: Tx,
  event: { account_id: number; type: EventType; occurred_at: Date; data: unknown },
): Promise<number> {
  const { id } = await tx
    .insertInto("events")
    .values({ ...event, data: JSON.stringify(event.data) })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}
