// Our id of one message: who it went to and by which dispatch. It comes back on every status report.

/** One dispatch to one recipient. */
export type MessageId = {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly recipient_id: number;
  /** Counts from 1: each dispatch has an id of its own, so that none is used twice. */
  readonly dispatches: number;
};

/** The id as text: `trk.<account>.<campaign>.<recipient>.<dispatch>`, far below the 512 characters a provider keeps. */
export function makeMessageId(id: MessageId): string {
  return `trk.${id.account_id}.${id.campaign_id}.${id.recipient_id}.${id.dispatches}`;
}

const shape = /^trk\.([1-9]\d{0,15})\.([1-9]\d{0,15})\.([1-9]\d{0,15})\.([1-9]\d{0,8})$/;

/** What an id says, or null when it is not one of ours. */
export function readMessageId(text: string): MessageId | null {
  const [, ...parts] = shape.exec(text) ?? [];
  const [account_id, campaign_id, recipient_id, dispatches] = parts.map(Number);
  if (!account_id || !campaign_id || !recipient_id || !dispatches) return null;
  const ids = [account_id, campaign_id, recipient_id];
  return ids.every(Number.isSafeInteger)
    ? { account_id, campaign_id, recipient_id, dispatches }
    : null;
}
