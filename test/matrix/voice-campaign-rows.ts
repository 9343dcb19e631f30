// The rows of routes for existing voice campaigns.
import type { Permission } from "../../server/accounts/permissions.ts";
import { unique } from "../support/account-factory.ts";
import type { RouteRow } from "./route-rows.ts";

const campaigns = "/api/v1/voice/campaigns";

const row = (may: readonly Permission[], request: RouteRow["request"]): RouteRow => ({
  features: ["voice"],
  may,
  request,
});
const see = (request: RouteRow["request"]) =>
  row(["voice.campaigns.read", "voice.campaigns.manage"], request);
const manage = (request: RouteRow["request"]) => row(["voice.campaigns.manage"], request);

/** The rows by route ID. */
export const voiceCampaignRows: Record<string, RouteRow> = {
  listVoiceCampaigns: see(() => ({
    path: `${campaigns}?limit=2&status=running&call_type=obd_ivr&is_test=false`,
  })),
  readVoiceCampaign: see((ids) => ({ path: `${campaigns}/${ids.voice_campaign_id}` })),
  readVoiceCampaignFailures: see((ids) => ({
    path: `${campaigns}/${ids.voice_campaign_id}/failures`,
  })),
  readVoiceCampaignPace: see((ids) => ({
    path: `${campaigns}/${ids.voice_campaign_id}/pace?minutes=5`,
  })),
  pauseVoiceCampaign: manage((ids) => ({ path: `${campaigns}/${ids.voice_campaign_id}/pause` })),
  resumeVoiceCampaign: manage((ids) => ({ path: `${campaigns}/${ids.voice_campaign_id}/resume` })),
  cancelVoiceCampaign: manage((ids) => ({ path: `${campaigns}/${ids.voice_campaign_id}/cancel` })),
  retryVoiceCampaign: manage((ids) => ({
    path: `${campaigns}/${ids.voice_campaign_id}/retry`,
    json: { outcomes: ["no_answer"] },
    headers: { "idempotency-key": unique("key") },
  })),
  listVoiceRecipients: see((ids) => ({
    path: `${campaigns}/${ids.voice_campaign_id}/recipients?limit=2&state=waiting&number=9800000001`,
  })),
  exportVoiceRecipients: row(["voice.campaigns.export"], (ids) => ({
    path: `${campaigns}/${ids.voice_campaign_id}/recipients/export?state=waiting`,
  })),
  listVoiceAttempts: see((ids) => ({
    path: `${campaigns}/${ids.voice_campaign_id}/attempts?limit=2&status=completed,busy`,
  })),
  readVoiceKeys: see((ids) => ({ path: `${campaigns}/${ids.voice_campaign_id}/keys` })),
};
