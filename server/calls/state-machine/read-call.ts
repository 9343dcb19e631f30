import type { Call, Leg } from "./call.ts";

/** A call as call_state() gives it, with its times as dates. */
export function readCall(state: unknown): Call {
  const { legs, ...row } = state as Call;
  return { ...revive(row), legs: legs.map((leg) => revive<Leg>(leg)), starred: false };
}

/** Every field of a row of ours that ends in `_at` is a time; what people put into it is left alone. */
function revive<Row extends object>(row: Row | Omit<Row, "legs" | "starred">): Row {
  const entries = Object.entries(row).map(([key, value]: [string, unknown]) => [
    key,
    key.endsWith("_at") && typeof value === "string" ? new Date(value) : value,
  ]);
  return Object.fromEntries(entries) as Row;
}
