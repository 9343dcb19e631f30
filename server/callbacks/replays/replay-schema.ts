// What an endpoint is told of again, as it goes in and comes out of the API.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";

const include = Type.Enum(["undelivered", "all"], {
  type: "string",
  default: "undelivered",
  description:
    "undelivered: what failed or still waits, and what no delivery was made of; all: what was delivered, too",
});

/** Which events an endpoint is told of again; validateReplay says what this schema cannot. */
export const NewReplay = closed(
  {
    from: Type.String({
      maxLength: 64,
      description:
        "Events from this time on, or from the beginning of a day; without an offset it is local to the account's zone",
    }),
    to: optional(
      Type.String({
        maxLength: 64,
        description: "Events before this time, or before the beginning of a day; now",
      }),
    ),
    include: optional(include),
  },
  {
    description: "Which events to tell an endpoint of again",
    examples: [{ from: "2026-01-31T09:30:00Z", include: "undelivered" }],
  },
);
export type NewReplay = Static<typeof NewReplay>;

/** A replay, and how far it is. */
export const ReplayAnswer = Type.Object({
  id: id("Replay id"),
  endpoint_id: id("Callback endpoint"),
  from: timestamp("UTC"),
  to: timestamp("UTC: when it was asked for at most"),
  include,
  state: Type.Enum(["processing", "completed", "failed"], {
    type: "string",
    description: "completed: the deliveries are made; failed: the endpoint was disabled on the way",
  }),
  reached: timestamp("UTC: between from and to, how far it is"),
  events_count: Type.Integer({ description: "Gone through so far, wanted or not" }),
  deliveries_count: Type.Integer({ description: "Made or begun anew so far" }),
  created_by: nullable(id("User id")),
  created_at: timestamp("UTC"),
  finished_at: nullable(timestamp("UTC")),
});
export type ReplayAnswer = Static<typeof ReplayAnswer>;
