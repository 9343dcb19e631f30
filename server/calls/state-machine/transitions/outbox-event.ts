// The events of a call, stored with its call record and published through the outbox.
import type { EventData, EventType } from "../../../engine/event-catalogue.ts";
import type { Call } from "../call.ts";

/** The types that belong to a call; call.missed belongs to none. */
export type OutboxEventType = Exclude<Extract<EventType, `call.${string}`>, "call.missed">;

export type OutboxEvent = {
  readonly type: OutboxEventType;
  readonly at: Date;
  readonly data: Readonly<EventData<OutboxEventType>>;
};

/** The fields of a type beside those that every event of a call has. */
type Details<Type extends OutboxEventType> = Readonly<
  Omit<EventData<Type>, keyof EventData<"call.initiated">>
>;

/** Builds an event with the fields that identify its call. */
export function outboxEvent<Type extends OutboxEventType>(
  type: Type,
  call: Call,
  at: Date,
  details: Details<Type>,
): OutboxEvent {
  const { campaign_id, attempt, to_number, status } = call;
  const { reference, from_number = call.from_number } = call.click_to_call;
  return {
    type,
    at,
    data: {
      call_id: call.id,
      campaign_id,
      reference,
      attempt,
      from_number,
      to_number,
      status,
      ...details,
    },
  };
}
