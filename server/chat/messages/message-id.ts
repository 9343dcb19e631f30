// Our IDs of messages, but for answers to replies. The provider returns them with every delivery status.

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

/** Formats the ID of the chat notification of a call: `call.<account>.<campaign>`. */
export function makeCallNoticeId(accountId: number, campaignId: number): string {
  return `call.${accountId}.${campaignId}`;
}

/** Formats the ID of a test message: `test.<uuid>`. */
export function makeTestId(uuid: string): string {
  return `test.${uuid}`;
}

const call_notice = /^call\.([1-9]\d{0,15})\.[1-9]\d{0,15}$/;
const test_message = /^test\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Reports whether the ID is of a call notification of the account, or of a test message, whose ID names no account. */
export function isNoticeOrTest(accountId: number, text: string): boolean {
  const [, account_id] = call_notice.exec(text) ?? [];
  return account_id === String(accountId) || test_message.test(text);
}
