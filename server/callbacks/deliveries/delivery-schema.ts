// What was delivered to whom, as the API shows it.
import Type, { type Static } from "typebox";
import { eventCatalogue } from "../../engine/event-catalogue.ts";
import { id, nullable, timestamp } from "../../lib/schemas.ts";

export const delivery_states = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof delivery_states)[number];

const state = Type.Enum(delivery_states, {
  type: "string",
  description: "failed: every attempt was made and none succeeded",
});
const webhook_id = {
  description: "The event's: the same on every attempt, every replay and at every endpoint",
  examples: ["evt_1_17"],
};

const fields = {
  id: id("Delivery id: of one event to one endpoint"),
  endpoint_id: id("Callback endpoint"),
  webhook_id: Type.String(webhook_id),
  type: Type.String({ description: "Of the event, such as call.completed" }),
  seq: Type.Integer({
    format: "int64",
    description: "The event's place in the order of its account",
  }),
  call_id: nullable(id("Null: the event is of no call")),
  method: Type.Enum(["GET", "POST", "PUT"], { type: "string" }),
  state,
  attempts: Type.Integer({
    description: "Made since it was first due, or was last delivered or given up and then replayed",
  }),
  due_at: nullable(timestamp("UTC: the next attempt is not made before; null when finished")),
  created_at: timestamp("UTC"),
  finished_at: nullable(timestamp("UTC: when it was delivered, or given up")),
  last_status: nullable(Type.Integer({ description: "What the last attempt was answered" })),
  last_error: nullable(Type.String({ description: "Why the last attempt got no good answer" })),
};

/** A row of the list. */
export const DeliveryRecord = Type.Object(fields);
export type DeliveryRecord = Static<typeof DeliveryRecord>;

/** The newest that are shown of one delivery. */
export const attempts_shown_max = 200;

const Attempt = Type.Object({
  at: timestamp("UTC: when it began"),
  duration_ms: Type.Integer(),
  status: nullable(Type.Integer({ description: "Null: no answer came" })),
  error: nullable(Type.String({ description: "Why it failed, where the status does not say so" })),
  response: nullable(Type.String({ description: "The beginning of what came back" })),
});

/** One delivery, with what is sent and how each attempt went. */
export const DeliveryDetail = Type.Object({
  ...fields,
  url: Type.String({ description: "The endpoint's, as it is now" }),
  body: Type.String({
    description: "What is sent and signed, byte for byte; a GET has it in its query",
  }),
  all_attempts: Type.Array(Attempt, {
    description: `Since ever, the oldest first; of more than ${attempts_shown_max} the newest`,
  }),
});
export type DeliveryDetail = Static<typeof DeliveryDetail>;

/** What a list of deliveries may be narrowed to, beside a time. */
export const deliveryFilter = {
  endpoint_id: Type.Optional(id("To one endpoint")),
  state: Type.Optional(state),
  type: Type.Optional(
    Type.Enum(Object.keys(eventCatalogue), { type: "string", description: "Of the event" }),
  ),
  webhook_id: Type.Optional(Type.String({ ...webhook_id, minLength: 1, maxLength: 64 })),
  call_id: Type.Optional(id("What was told of one call")),
};
