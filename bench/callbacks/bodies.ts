// The same events for every contender.
import { callbackBody } from "../../server/callbacks/endpoints/callback-body.ts";

/** Returns the data of the i-th completed call, of typical size. */
export function dataOf(i: number) {
  return {
    call_id: i + 1,
    campaign_id: 1,
    reference: `order-${i}`,
    attempt: 1,
    from_number: "101",
    to_number: "9876543210",
    status: "completed",
    type: "click_to_call",
    disposition: "answered",
    ended_reason: "hung_up",
    ended_by: "customer",
    answered_by: "human",
    ring_seconds: 7,
    talk_seconds: 61,
    billed_seconds: 120,
    dtmf: "",
    collected: {},
    recording_url: `/api/v1/calls/${i + 1}/recording`,
    opted_out: false,
  };
}

export const type = "call.completed";

/** Returns the body of the request. */
export function bodyOf(i: number, occurred_at: Date): string {
  return callbackBody({ type, occurred_at, data: dataOf(i) });
}
