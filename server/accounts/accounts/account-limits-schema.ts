// The limits and bounds of an account that only an operator sets.
import Type, { type Static } from "typebox";
import { closed, optional } from "../../lib/schemas.ts";
import { destinations, time_of_day } from "./account-schema.ts";
import { CallCaps } from "./internal/call-caps-schema.ts";

/** Limits that only an operator changes. */
export const AccountLimits = closed(
  {
    chat_writes_a_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    call_pulse_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600 })),
    call_caps: Type.Optional(CallCaps),
    call_destinations_allowed: optional(
      destinations("The countries that it may call, or *; null: the country of its country_code"),
    ),
    calling_hours_allowed: optional(
      Type.String({
        pattern: `^${time_of_day}-(${time_of_day}|24:00)$`,
        description: "The hours that its calling window must lie within; null: any",
        "x-reason": "must be hours such as 08:00-21:00",
      }),
    ),
    region_locked: Type.Optional(
      Type.Boolean({ description: "Whether it may not change its country code and time zone" }),
    ),
    storage_megabytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
    requests_a_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
    token_requests_a_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
  },
  { minProperties: 1 },
);
export type AccountLimits = Static<typeof AccountLimits>;
