import type { Tx } from "../lib/database/database.ts";
import type { EventData, EventType } from "./event-catalogue.ts";

export type { EventType };

/** A piece of news as the catalogue describes it. */
export type NewEvent<Told extends EventType = EventType> = {
  [Type in Told]: {
    readonly account_id: number;
    readonly type: Type;
    readonly occurred_at: Date;
    readonly data: Readonly<EventData<Type>>;
  };
}[Told];

/**
 * Records what happened, in the transaction of the change: it is told exactly when that commits.
 * Returns the event's id.
 */
export async function recordEvent(tx: Tx, event: NewEvent): Promise<number> {
  const [id] = await recordEvents(tx, [event]);
  return id!;
}

/** The same for several, told in this order. */
export async function recordEvents(tx: Tx, events: readonly NewEvent[]): Promise<number[]> {
  const recorded = await tx
    .insertInto("events")
    .values(events.map((event) => ({ ...event, data: JSON.stringify(event.data) })))
    .returning("id")
    .execute();
  return recorded.map(({ id }) => id);
}
