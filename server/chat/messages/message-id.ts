// Our ID of one message: its recipient and dispatch. The provider returns it with every delivery status.

/** One dispatch to one recipient. */
export type MessageId = {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly recipient_id: number;
  /** Counts from 1; each dispatch has its own ID, which is never reused. */
  readonly dispatches: number;
};

/** Formats the ID as `trk.<account>.<campaign>.<recipient>.<dispatch>`; providers keep 512 characters. */
export function makeMessageId(id: MessageId): string {
  return `trk.${id.account_id}.${id.campaign_id}.${id.recipient_id}.${id.dispatches}`;
}

const shape = /^trk\.([1-9]\d{0,15})\.([1-9]\d{0,15})\.([1-9]\d{0,15})\.([1-9]\d{0,8})$/;

/** Parses an ID; null when it is not one of ours. */
export function readMessageId(text: string): MessageId | null {
  const [, ...parts] = shape.exec(text) ?? [];
  const [account_id, campaign_id, recipient_id, dispatches] = parts.map(Number);
  if (!account_id || !campaign_id || !recipient_id || !dispatches) return null;
  const ids = [account_id, campaign_id, recipient_id];
  return ids.every(Number.isSafeInteger)
    ? { account_id, campaign_id, recipient_id, dispatches }
    : null;
}
