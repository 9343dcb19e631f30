// The dry run and the launch of a draft: to a list, a file or a saved group.
import { api, body } from "../../../api/client.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { upload } from "../../../api/upload.ts";
import { nameColumns } from "../../campaigns/named-columns.ts";
import type { ReadyDraft } from "../../campaigns/use-campaign-draft.ts";
import type { VoiceDraft } from "./voice-draft.ts";

export type ReadyVoiceDraft = ReadyDraft<VoiceDraft>;

/** Returns what the campaign would do. */
export async function previewVoiceDraft(ready: ReadyVoiceDraft) {
  const { draft, onProgress } = ready;
  const sent =
    draft.source === "group"
      ? body(api.POST("/api/v1/voice/campaigns/preview", { body: toGroup(draft) }))
      : upload("/api/v1/voice/campaigns/preview", partsOf(ready), { onProgress });
  return sent.catch(named);
}

/** Launches it, with the draft's key. */
export async function launchVoiceDraft(ready: ReadyVoiceDraft) {
  const { draft, onProgress } = ready;
  const { key } = draft;
  const params = { header: { "idempotency-key": key } };
  const sent =
    draft.source === "group"
      ? body(api.POST("/api/v1/voice/voiceCampaign", { params, body: toGroup(draft) }))
      : upload("/api/v1/voice/voiceCampaign", partsOf(ready), { key, onProgress });
  return sent.catch(named);
}

const toGroup = (draft: VoiceDraft) => ({
  ...fieldsOf(draft),
  voice_file_id: Number(draft.voice_file_id),
  sendTo: "Group" as const,
  groupId: draft.group_id,
  ...(draft.max_retry === ""
    ? {}
    : { max_retry: Number(draft.max_retry), retry_after: Number(draft.retry_after) }),
});

const partsOf = (ready: ReadyVoiceDraft) => ({
  ...fieldsOf(ready.draft),
  voice_file_id: ready.draft.voice_file_id,
  sendTo: "csv",
  ...(ready.draft.max_retry === ""
    ? {}
    : { max_retry: ready.draft.max_retry, retry_after: ready.draft.retry_after }),
  ...nameColumns(ready),
});

/** What was not chosen is left out. */
function fieldsOf({ name, call_type, scheduled_at, crm_workspace_id, callback_url }: VoiceDraft) {
  return {
    campaign_name: name,
    call_type,
    ...(scheduled_at === "" ? {} : { schedulled_at: scheduled_at }),
    ...(crm_workspace_id === "" ? {} : { crm_workspace_id }),
    ...(callback_url === "" ? {} : { callback_url }),
  };
}

const names: Readonly<Record<string, string>> = {
  campaign_name: "name",
  groupId: "group_id",
  number: "contacts",
  csv_number_column: "phone_column",
  schedulled_at: "scheduled_at",
};

/** Names the fields of a violation as the form does. */
function named(error: unknown): never {
  if (!(error instanceof ApiProblem)) throw error;
  const errors = error.errors.map(({ field, reason }) => ({
    field: names[field] ?? field,
    reason,
  }));
  throw new ApiProblem(error.status, error.type, error.message, {
    errors,
    request_id: error.request_id,
  });
}
