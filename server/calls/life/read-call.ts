import type { Call } from "./call.ts";

/** A call as call_state() gives it, with its times as dates. */
export function readCall(state: unknown): Call {
  return { ...(revive(state) as Omit<Call, "starred">), starred: false };
}

/** Every field of ours that ends in `_at` is a time. */
function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key.endsWith("_at") && typeof each === "string" ? new Date(each) : revive(each),
    ]),
  );
}
