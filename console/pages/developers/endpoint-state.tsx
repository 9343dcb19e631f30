import type { Endpoint } from "../../api/callbacks.ts";
import { Badge } from "../../ui/badge.tsx";

/** Whether an endpoint receives events. */
export function EndpointState({
  endpoint: { enabled, disabled_reason, failing_since },
}: {
  readonly endpoint: Endpoint;
}) {
  if (!enabled)
    return (
      <Badge tone={disabled_reason === "manual" ? "neutral" : "bad"}>
        {disabled_reason === "manual" ? "Disabled" : "Disabled: it failed"}
      </Badge>
    );
  return failing_since === null ? (
    <Badge tone="good">Active</Badge>
  ) : (
    <Badge tone="warning">Failing</Badge>
  );
}
