// What is told of an event, to callbacks and to live streams alike (Standard Webhooks 1.0.0).

export type ReceivedEvent = {
  readonly type: string;
  readonly occurred_at: Date;
  readonly data: Readonly<Record<string, unknown>>;
};

const body_bytes_max = 20_000;

/** The id of an event for whoever hears of it: the same on every retry, replay and endpoint; without a dot. */
export function webhookId(accountId: number, eventId: number): string {
  return `evt_${accountId}_${eventId}`;
}

/**
 * `{type, timestamp, data}` as JSON, the same text each time, below 20,000 bytes: of larger data the
 * largest fields are left out and named in `data.omitted`.
 */
export function callbackBody(event: ReceivedEvent): string {
  const text = bodyOf(event);
  return Buffer.byteLength(text) < body_bytes_max ? text : bodyOf(shortened(event));
}

/**
 * The same for a callback whose method is GET: type, timestamp and the plain values of data, to be put
 * behind the URL's question mark. A call's own type is `data_type` there.
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

/** URLs of more than some 8,000 characters are cut or refused on their way. */
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
