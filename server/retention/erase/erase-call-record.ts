import type { CallRecord } from "../../calls/records/call-record-schema.ts";

/** What a menu step has instead of a key, which is not the caller's. */
const not_pressed: ReadonlySet<string | null> = new Set([null, "timeout", "invalid"]);

/** Returns the JSON of a call record without what erase_calls and the erasure of recordings remove from its call. */
export function eraseCallRecord(json: string): string {
  const record = JSON.parse(json) as CallRecord;
  const erased: CallRecord = {
    ...record,
    reference: null,
    source: null,
    remark: null,
    to_number: "",
    dtmf: "",
    recording_url: null,
    transcript: null,
    menu_path: record.menu_path.map((step) =>
      not_pressed.has(step.key) ? step : { ...step, key: "erased" },
    ),
    collected: {},
    messages: [],
    lead_id: null,
    legs: record.legs.map((leg) => (leg.role === "customer" ? { ...leg, number: "" } : leg)),
  };
  return JSON.stringify(erased);
}
