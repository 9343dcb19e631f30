import type { Tx } from "../lib/database/database.ts";
import type { EventData, EventType } from "./event-catalogue.ts";

export type { EventType };

/** An event with the fields that the catalogue lists for its type. */
export type NewEvent<Types extends EventType = EventType> = {
  [Type in Types]: {
    readonly account_id: number;
    readonly type: Type;
    readonly occurred_at: Date;
    readonly data: Readonly<EventData<Type>>;
  };
}[Types];

/**
 * Records an event in the transaction of its change, so that it is published if and only if the
 * transaction commits. Returns the event's id.
 */
export async function recordEvent(tx: Tx, event: NewEvent): Promise<number> {
  const [id] = await recordEvents(tx, [event]);
  return id!;
}

/** Records several events, which are published in this order, and returns their ids. */
export async function recordEvents(tx: Tx, events: readonly NewEvent[]): Promise<number[]> {
  const recorded = await tx
    .insertInto("events")
    .values(events.map((event) => ({ ...event, data: JSON.stringify(event.data) })))
    .returning("id")
    .execute();
  return recorded.map(({ id }) => id);
}
