// The rows of routes for a voice campaign's launch, preview, test call and rejects.
import { unique } from "../support/account-factory.ts";
import type { RouteRow } from "./route-rows.ts";
import type { Ids } from "./seed-ids.ts";

const campaigns = "/api/v1/voice/campaigns";

const create = (request: RouteRow["request"]): RouteRow => ({
  features: ["voice"],
  may: ["voice.campaigns.create"],
  agent_denied: "permission-denied",
  request,
});

const headOf = (ids: Ids) => ({
  campaign_name: unique("campaign"),
  voice_file_id: ids.voice_file_id,
  call_type: "obd_voice_call",
  max_retry: 2,
  retry_after: 10,
  schedulled_at: "2099-01-31T09:30:00Z",
  callback_url: "https://example.com/calls",
  crm_workspace_id: String(ids.workspace_id),
});

/** The rows by route ID. */
export const voiceLaunchRows: Record<string, RouteRow> = {
  createVoiceCampaign: create((ids) => ({
    path: "/api/v1/voice/voiceCampaign",
    json: { ...headOf(ids), sendTo: "Group", groupId: String(ids.group_id) },
  })),
  previewVoiceCampaign: create((ids) => ({ path: `${campaigns}/preview`, form: previewOf(ids) })),
  createVoiceTestCall: create((ids) => ({
    path: `${campaigns}/test-call`,
    json: {
      voice_file_id: ids.voice_file_id,
      call_type: "obd_smartvoice",
      number: "9876543210",
      variables: { name: "Ann" },
    },
  })),
  listVoiceRejects: {
    features: ["voice"],
    may: ["voice.campaigns.read", "voice.campaigns.manage"],
    request: (ids) => ({ path: `${campaigns}/${ids.voice_campaign_id}/rejects?limit=2` }),
  },
};

function previewOf(ids: Ids): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(headOf(ids))) form.set(name, String(value));
  form.set("sendTo", "csv");
  form.set("csv_number_column", "phone");
  form.set("file", new Blob(["phone,1\n9812345678,Ann\n12,Bob\n"], { type: "text/csv" }), "c.csv");
  return form;
}
