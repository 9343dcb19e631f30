// The rows of routes for calls.
import type { Permission } from "../../server/accounts/permissions.ts";
import type { RouteRow } from "./route-rows.ts";

const calls = "/api/v1/calls";

const row = (may: readonly Permission[], request: RouteRow["request"]): RouteRow => ({
  features: ["calls", "voice"],
  may,
  request,
});
const see = (request: RouteRow["request"]) => row(["calls.read", "calls.manage"], request);
const manage = (request: RouteRow["request"]) => row(["calls.manage"], request);

/** The rows by route ID. */
export const callRows: Record<string, RouteRow> = {
  listCalls: see((ids) => ({
    path: `${calls}?limit=2&campaign_id=${ids.call_campaign_id}&status=no-answer,busy&number=101`,
  })),
  exportCalls: row(["calls.export"], (ids) => ({
    path: `${calls}/export?campaign_id=${ids.call_campaign_id}`,
  })),
  readCall: see((ids) => ({ path: `${calls}/${ids.ended_call_id}` })),
  readCallRecording: see((ids) => ({ path: `${calls}/${ids.ended_call_id}/recording` })),
  readCallMessage: see((ids) => ({ path: `${calls}/${ids.voice_call_id}/messages/1` })),
  hangUpCall: manage((ids) => ({ path: `${calls}/${ids.queued_call_id}/hangup` })),
  transferCall: manage((ids) => ({
    path: `${calls}/${ids.live_call_id}/transfer`,
    json: { extension: "102" },
  })),
  retryCall: manage((ids) => ({
    path: `${calls}/${ids.ended_call_id}/retry`,
    json: { leg: "agent" },
  })),
};
