import type { Endpoint } from "../../api/callbacks.ts";
import { Badge } from "../../ui/badge.tsx";

const disabled_words: Readonly<Record<NonNullable<Endpoint["disabled_reason"]>, string>> = {
  manual: "Disabled",
  failing: "Disabled: it failed",
  gone: "Disabled: it answered 410",
};

/** Whether an endpoint receives events. */
export function EndpointState({
  endpoint: { enabled, disabled_reason, failing_since },
}: {
  readonly endpoint: Endpoint;
}) {
  if (!enabled)
    return (
      <Badge tone={disabled_reason === "manual" ? "neutral" : "bad"}>
        {disabled_reason === null ? "Disabled" : disabled_words[disabled_reason]}
      </Badge>
    );
  return failing_since === null ? (
    <Badge tone="good">Active</Badge>
  ) : (
    <Badge tone="warning">Failing</Badge>
  );
}
