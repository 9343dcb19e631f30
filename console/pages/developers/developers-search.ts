import type { DeliveryFilter, DeliveryState, EventName } from "../../api/callbacks.ts";
import type { Option } from "../../ui/option.ts";

export const delivery_states: readonly Option<DeliveryState>[] = [
  { value: "pending", label: "Waiting" },
  { value: "delivered", label: "Delivered" },
  { value: "failed", label: "Failed" },
];

/** The filters of an endpoint's deliveries. The API refuses a type that does not exist. */
export function readDeliverySearch({ state, type }: Record<string, unknown>): DeliveryFilter {
  const known = delivery_states.find(({ value }) => value === state)?.value;
  return {
    ...(known ? { state: known } : {}),
    ...(typeof type === "string" && /^[a-z._]{1,64}$/.test(type)
      ? { type: type as EventName }
      : {}),
  };
}
