import type { Call, ClickToCallTerms, Leg } from "./call.ts";

/** What call_state() returns: a call whose click-to-call terms are under `plan`. */
type CallState = Omit<Call, "click_to_call"> & { readonly plan: ClickToCallTerms };

/** Reads a call from call_state(), with its times as dates. */
export function readCall(state: unknown): Call {
  const { legs, plan, ...row } = state as CallState;
  const unstored = { starred: false, unpaid_at: null };
  return {
    ...revive({ ...row, click_to_call: plan }),
    legs: legs.map((leg) => revive<Leg>(leg)),
    ...unstored,
  };
}

/** Converts each column that ends in `_at` to a date; values inside JSON columns stay as they are. */
function revive<Row extends object>(row: Row | Omit<Row, "legs" | "starred" | "unpaid_at">): Row {
  const entries = Object.entries(row).map(([key, value]: [string, unknown]) => [
    key,
    key.endsWith("_at") && typeof value === "string" ? new Date(value) : value,
  ]);
  return Object.fromEntries(entries) as Row;
}
