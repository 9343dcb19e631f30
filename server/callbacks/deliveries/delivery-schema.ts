// Callback deliveries in API form.
import Type, { type Static } from "typebox";
import { eventCatalogue } from "../../engine/event-catalogue.ts";
import { id, nullable, timestamp } from "../../lib/schemas.ts";

export const delivery_states = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof delivery_states)[number];

const state = Type.Enum(delivery_states, {
  type: "string",
  description: "failed: all attempts failed",
});
const webhook_id = {
  description:
    "Identifies the event: the same on every attempt, on every replay and at every endpoint",
  examples: ["evt_1_17"],
};

const fields = {
  id: id("Delivery id: one event for one endpoint"),
  endpoint_id: id("Callback endpoint"),
  webhook_id: Type.String(webhook_id),
  type: Type.String({ description: "The event type, such as call.completed" }),
  seq: Type.Integer({
    format: "int64",
    description: "The event's place in the account's order",
  }),
  call_id: nullable(id("Null if the event does not belong to a call")),
  method: Type.Enum(["GET", "POST", "PUT"], { type: "string" }),
  state,
  attempts: Type.Integer({
    description:
      "Since the delivery was created or, if a finished one was replayed, since the replay",
  }),
  due_at: nullable(timestamp("UTC: the earliest time of the next attempt; null when finished")),
  created_at: timestamp("UTC"),
  finished_at: nullable(timestamp("UTC: when it was delivered or failed")),
  last_status: nullable(Type.Integer({ description: "The HTTP status of the last attempt" })),
  last_error: nullable(Type.String({ description: "Why the last attempt failed" })),
};

/** A row of the list. */
export const DeliveryRecord = Type.Object(fields, { title: "CallbackDelivery" });
export type DeliveryRecord = Static<typeof DeliveryRecord>;

/** The number of attempts shown for a delivery, the newest ones. */
export const attempts_shown_max = 200;

const Attempt = Type.Object(
  {
    at: timestamp("UTC: when it began"),
    duration_ms: Type.Integer(),
    status: nullable(Type.Integer({ description: "Null if there was no response" })),
    error: nullable(Type.String({ description: "Why it failed, unless the status says so" })),
    response: nullable(Type.String({ description: "The beginning of the response body" })),
  },
  { title: "CallbackAttempt" },
);

/** One delivery with its content and its attempts. */
export const DeliveryDetail = Type.Object(
  {
    ...fields,
    url: Type.String({ description: "The endpoint's current URL" }),
    body: Type.String({
      description: "The content that is sent and signed, byte for byte; in the query of a GET",
    }),
    all_attempts: Type.Array(Attempt, {
      description: `Oldest first, including those before replays; at most the newest ${attempts_shown_max}`,
    }),
  },
  { title: "CallbackDeliveryDetail" },
);
export type DeliveryDetail = Static<typeof DeliveryDetail>;

/** The filter of a list of deliveries, without its time range. */
export const deliveryFilter = {
  endpoint_id: Type.Optional(id("Only this endpoint")),
  state: Type.Optional(state),
  type: Type.Optional(
    Type.Enum(Object.keys(eventCatalogue), {
      type: "string",
      description: "Only events of this type",
    }),
  ),
  webhook_id: Type.Optional(Type.String({ ...webhook_id, minLength: 1, maxLength: 64 })),
  call_id: Type.Optional(id("Only events of this call")),
};
