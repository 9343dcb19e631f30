// Our ID of an answer to a reply. The provider returns it with every delivery status.

/** An answer's account and the reply that it answers. */
export type AnswerId = {
  readonly account_id: number;
  readonly reply_id: number;
};

/** Formats the ID as `answer.<account>.<reply>.<uuid>`; the UUID makes it unique and names its credit. */
export function makeAnswerId({ account_id, reply_id }: AnswerId, uuid: string): string {
  return `answer.${account_id}.${reply_id}.${uuid}`;
}

const shape = /^answer\.([1-9]\d{0,15})\.([1-9]\d{0,15})\.[0-9a-f-]{36}$/;

/** Parses an ID; null when it is not one of an answer. */
export function readAnswerId(text: string): AnswerId | null {
  const [, ...parts] = shape.exec(text) ?? [];
  const [account_id, reply_id] = parts.map(Number);
  if (!account_id || !reply_id) return null;
  return Number.isSafeInteger(account_id) && Number.isSafeInteger(reply_id)
    ? { account_id, reply_id }
    : null;
}
