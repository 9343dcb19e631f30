// The content of an event in callbacks and live events (Standard Webhooks 1.0.0).

export type ReceivedEvent = {
  readonly type: string;
  readonly occurred_at: Date;
  readonly data: Readonly<Record<string, unknown>>;
};

const body_bytes_max = 20_000;

/** Returns an event's webhook-id: the same on every retry, replay and endpoint, and without a dot. */
export function webhookId(accountId: number, eventId: number): string {
  return `evt_${accountId}_${eventId}`;
}

/**
 * Returns `{type, timestamp, data}` as JSON, the same text each time, below 20,000 bytes: if the data is
 * larger, its largest fields are omitted and named in `data.omitted`.
 */
export function callbackBody(event: ReceivedEvent): string {
  const text = bodyOf(event);
  return Buffer.byteLength(text) < body_bytes_max ? text : bodyOf(shortened(event));
}

/**
 * Returns the query of a GET callback: type, timestamp and the scalar fields of data. A field whose name is
 * taken gets the prefix `data_`, such as `data_type` of a call.
 */
export function callbackQuery({ type, occurred_at, data }: ReceivedEvent): string {
  const query = new URLSearchParams({ type, timestamp: occurred_at.toISOString() });
  const scalars = Object.entries(data).filter(([, value]) => isScalar(value));
  for (const [field, value] of scalars) {
    const name = query.has(field) ? `data_${field}` : field;
    query.set(name, String(value).slice(0, query_value_max).toWellFormed());
  }
  return query.toString();
}

/** Many proxies and servers truncate or refuse URLs of more than about 8,000 characters. */
const query_value_max = 255;

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function bodyOf({ type, occurred_at, data }: ReceivedEvent): string {
  return JSON.stringify({ type, timestamp: occurred_at.toISOString(), data });
}

function shortened(event: ReceivedEvent): ReceivedEvent {
  const bySize = Object.entries(event.data)
    .map(([field, value]) => ({ field, bytes: Buffer.byteLength(JSON.stringify(value)) }))
    .toSorted((a, b) => a.bytes - b.bytes);
  const omitted: string[] = [];
  const without = (): ReceivedEvent => {
    const kept = Object.entries(event.data).filter(([field]) => !omitted.includes(field));
    return { ...event, data: { ...Object.fromEntries(kept), omitted } };
  };
  while (Buffer.byteLength(bodyOf(without())) >= body_bytes_max) omitted.push(bySize.pop()!.field);
  return without();
}
