import type { SpanOptions } from "../../../lib/tracing/tracing.ts";
import type { Call } from "../../state-machine/call.ts";

/** Returns the options of a call's span: each event of a call begins a trace, because a call lasts for hours. */
export function callSpan({ account_id, id, campaign_id }: Call, event?: string): SpanOptions {
  return {
    parent: null,
    attributes: {
      "trunkline.account.id": account_id,
      "trunkline.call.id": id,
      "trunkline.campaign.id": campaign_id,
      "trunkline.call.event": event,
    },
  };
}
