// What is told of a call: on its report, and to callbacks (design: Callbacks).
import type { EventData, EventType } from "../../engine/event-catalogue.ts";
import type { Call } from "./call.ts";

export type NewsType = Extract<EventType, `call.${string}`>;

export type News = {
  readonly type: NewsType;
  readonly at: Date;
  readonly data: Readonly<EventData<NewsType>>;
};

/** What a type tells beside what it tells of every call. */
type Details<Told extends NewsType> = Readonly<
  Omit<EventData<Told>, keyof EventData<"call.initiated">>
>;

/** One piece of news, with what tells whose it is. */
export function news<Told extends NewsType>(
  type: Told,
  call: Call,
  at: Date,
  details: Details<Told>,
): News {
  const { campaign_id, attempt, from_number, to_number, status } = call;
  const { reference } = call.plan;
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
