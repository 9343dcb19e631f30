import type { Call, CallFilter, CallStatus } from "../../api/call-records.ts";
import type { Option } from "../../ui/option.ts";

export const status_options: readonly Option<CallStatus>[] = [
  { value: "queued", label: "Waiting" },
  { value: "ringing", label: "Ringing" },
  { value: "in-progress", label: "Talking" },
  { value: "completed", label: "Completed" },
  { value: "busy", label: "Busy" },
  { value: "no-answer", label: "No answer" },
  { value: "failed", label: "Failed" },
  { value: "canceled", label: "Cancelled" },
];

export const type_options: readonly Option<Call["type"]>[] = [
  { value: "click_to_call", label: "Click-to-call" },
  { value: "voice_campaign", label: "Campaign" },
  { value: "incoming", label: "Incoming" },
];

const day = /^\d{4}-\d{2}-\d{2}$/;

/** The filters of the list of calls in the address. */
export function readCallsSearch(search: Record<string, unknown>): CallFilter {
  const { number, campaign_id, from, to } = search;
  const status = status_options.find(({ value }) => value === search["status"])?.value;
  const type = type_options.find(({ value }) => value === search["type"])?.value;
  return {
    ...(type ? { type } : {}),
    ...(status ? { status } : {}),
    // The router reads a search of digits as a number.
    ...(typeof number === "string" || typeof number === "number" ? { number: String(number) } : {}),
    ...(Number.isSafeInteger(campaign_id) ? { campaign_id: campaign_id as number } : {}),
    ...(typeof from === "string" && day.test(from) ? { from } : {}),
    ...(typeof to === "string" && day.test(to) ? { to } : {}),
  };
}

/** The call that was placed, and the number to call next. */
export function readDialerSearch({ to, campaign_id }: Record<string, unknown>): {
  to?: string;
  campaign_id?: number;
} {
  return {
    ...(typeof to === "string" || typeof to === "number" ? { to: String(to) } : {}),
    ...(Number.isSafeInteger(campaign_id) ? { campaign_id: campaign_id as number } : {}),
  };
}
