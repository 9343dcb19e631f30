// What is told of a call: on its report, and to callbacks (design: Callbacks).
import type { Call, LegRole } from "./call.ts";

export type NewsType =
  | "call.initiated"
  | "call.ringing"
  | "call.answered"
  | "call.dtmf"
  | "call.bridged"
  | "call.transferring"
  | "call.transferred"
  | "call.completed"
  | "call.recording.ready";

type Details = Readonly<Record<string, string | number | null>> & { readonly leg?: LegRole };

export type News = { readonly type: NewsType; readonly at: Date; readonly data: Details };

/** One piece of news, with what tells whose it is. */
export function news(type: NewsType, call: Call, at: Date, details: Details = {}): News {
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
