// The draft of a voice campaign: has one idempotency key, so that no person is called twice.
import type { CallType } from "../../../api/voice.ts";
import { draftStore, type DraftStore } from "../../campaigns/draft-store.ts";
import { empty_audience, type AudienceDraft } from "../../campaigns/use-audience.ts";
import type { VoiceComposerSearch } from "../voice-search.ts";

export type VoiceDraft = AudienceDraft & {
  readonly key: string;
  readonly name: string;
  readonly call_type: CallType;
  readonly voice_file_id: string;
  /** Local to the account's time zone; empty: now. */
  readonly scheduled_at: string;
  /** Further attempts at a busy or unanswered number. */
  readonly max_retry: string;
  /** Minutes between attempts. */
  readonly retry_after: string;
  readonly crm_workspace_id: string;
  readonly callback_url: string;
};

/** The draft of this tab, or a draft to one number beside it. */
export function voiceDraftsFor({ to }: VoiceComposerSearch): DraftStore<VoiceDraft> {
  const key = to === undefined ? "voice-campaign-draft" : `voice-campaign-draft ${to}`;
  return draftStore(key, () => ({ ...newDraft(), list: to ?? "" }), []);
}

/** Returns the kept draft, or a new one, with the given voice file and kind of call. */
export function beginVoiceDraft(
  drafts: DraftStore<VoiceDraft>,
  { file, kind }: VoiceComposerSearch,
): VoiceDraft {
  const draft = drafts.read();
  if (file === undefined) return draft;
  const call_type = kind ?? draft.call_type;
  return { ...draft, call_type, voice_file_id: String(file), mapping: {} };
}

function newDraft(): VoiceDraft {
  return {
    ...empty_audience,
    key: crypto.randomUUID(),
    name: "",
    call_type: "obd_voice_call",
    voice_file_id: "",
    scheduled_at: "",
    max_retry: "",
    retry_after: "10",
    crm_workspace_id: "",
    callback_url: "",
  };
}
