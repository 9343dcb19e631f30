// What the pages of chat and voice campaigns show beside the counts.
import Type, { type Static } from "typebox";
import { timestamp } from "../../lib/schemas.ts";

/** Recipients that are counted for each reason; a page shows "10,000+" beyond. */
export const counted_max = 10_000;

/** Why recipients failed or were skipped. */
export const FailureCount = Type.Object(
  {
    state: Type.String({ description: "The recipients' state, such as failed or skipped" }),
    reason: Type.String({ description: "As in the list of recipients or the call record" }),
    count: Type.Integer({ maximum: counted_max, description: `Counted up to ${counted_max}` }),
    is_more: Type.Boolean({ description: "Whether there may be more than were counted" }),
  },
  { title: "FailureCount" },
);
export type FailureCount = Static<typeof FailureCount>;

/** Returns how many minutes back a history begins, as a query parameter. */
export const minutesQuery = (maximum: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum,
      default: 60,
      description: "Minutes of history, up to now",
    }),
  );

export const minute = timestamp("UTC: the minute's beginning");
export const count = (description: string) => Type.Integer({ description });
