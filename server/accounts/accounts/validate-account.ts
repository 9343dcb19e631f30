import type { FieldError } from "../../lib/errors.ts";
import { isTimeZone } from "../../lib/parse-time.ts";
import { validateDestinations } from "./call-destinations.ts";

/** Returns the violations that a schema cannot express. The body may have any shape. */
export function validateAccount(body: unknown): FieldError[] {
  const { time_zone, chat, calls } = (body ?? {}) as Record<
    "time_zone" | "chat" | "calls",
    unknown
  >;
  const { destinations } = (calls ?? {}) as { destinations?: unknown };
  const zone =
    typeof time_zone === "string" && !isTimeZone(time_zone)
      ? [{ field: "time_zone", reason: "must be an IANA time zone such as Asia/Kolkata" }]
      : [];
  return [
    ...zone,
    ...validateQuietTime(chat ?? {}),
    ...validateDestinations("calls.destinations", destinations),
  ];
}

/** Requires both or neither, so that a change never depends on the current values. */
function validateQuietTime(chat: { quiet_from?: unknown; quiet_to?: unknown }): FieldError[] {
  const { quiet_from, quiet_to } = chat;
  if (typeof quiet_from === "string" && quiet_from === quiet_to) {
    return [{ field: "chat.quiet_to", reason: "must not be the same as quiet_from" }];
  }
  const kindOf = (value: unknown) => (value === null ? "null" : typeof value);
  if (kindOf(quiet_from) === kindOf(quiet_to)) return [];
  const [lacking, other] =
    typeof quiet_to === "string" || quiet_from === undefined
      ? ["quiet_from", "quiet_to"]
      : ["quiet_to", "quiet_from"];
  return [{ field: `chat.${lacking}`, reason: `must be set, or null, together with ${other}` }];
}
