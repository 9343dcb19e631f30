// Replays in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const include = Type.Enum(["undelivered", "all"], {
  type: "string",
  default: "undelivered",
  description:
    "undelivered: failed and pending deliveries, and events without a delivery; all: also delivered ones",
});

/** Which events to replay; validateReplay checks what this schema cannot express. */
export const NewReplay = closed(
  {
    from: Type.String({
      maxLength: 64,
      description:
        "Inclusive: a time, or the beginning of a day; without an offset, in the account's time zone",
    }),
    to: optional(
      Type.String({
        maxLength: 64,
        description: "Exclusive: a time, or the beginning of a day. Defaults to now",
      }),
    ),
    include: optional(include),
  },
  {
    title: "NewCallbackReplay",
    description: "The events to replay to an endpoint",
    examples: [{ from: "2026-01-31T09:30:00Z", include: "undelivered" }],
  },
);
export type NewReplay = Static<typeof NewReplay>;

/** A replay and its progress. */
export const ReplayResponse = Type.Object(
  {
    id: id("Replay id"),
    endpoint_id: id("Callback endpoint"),
    from: timestamp("UTC"),
    to: timestamp("UTC: at the latest, when the replay was requested"),
    include,
    state: Type.Enum(["processing", "completed", "failed"], {
      type: "string",
      description:
        "completed: the deliveries are created; failed: the endpoint was disabled during the replay",
    }),
    reached: timestamp("UTC: the time between from and to that the replay has reached"),
    events_count: Type.Integer({
      description: "Events processed so far, including types that the endpoint does not receive",
    }),
    deliveries_count: Type.Integer({ description: "Deliveries created or restarted so far" }),
    created_by: nullable(id("User id")),
    created_at: timestamp("UTC"),
    finished_at: nullable(timestamp("UTC")),
  },
  { title: "CallbackReplay" },
);
export type ReplayResponse = Static<typeof ReplayResponse>;
