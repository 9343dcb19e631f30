// The draft of a campaign: has one idempotency key, so that it is sent once.
import Papa from "papaparse";
import { draftStore, type DraftStore } from "../../campaigns/draft-store.ts";
import { empty_audience, type AudienceDraft } from "../../campaigns/use-audience.ts";
import type { ComposerSearch } from "../campaigns-search.ts";

export type Draft = AudienceDraft & {
  readonly key: string;
  readonly name: string;
  readonly chat_number_id: string;
  readonly template_id: string;
  /** Local to the account's time zone; empty: now. */
  readonly scheduled_at: string;
};

/** The draft of this tab, or a draft to one person beside it. */
export function draftsFor({ to, name }: ComposerSearch): DraftStore<Draft> {
  const line = name === undefined ? [to] : [to, name];
  const list = to === undefined ? "" : Papa.unparse([line]);
  const key = to === undefined ? "chat-campaign-draft" : `chat-campaign-draft ${to}`;
  return draftStore(key, () => ({ ...newDraft(), list }), ["chat_number_id"]);
}

/** Returns the kept draft, or a new one, with the given template. */
export function beginDraft(drafts: DraftStore<Draft>, { template }: ComposerSearch): Draft {
  const draft = drafts.read();
  return template === undefined ? draft : { ...draft, template_id: String(template), mapping: {} };
}

function newDraft(): Draft {
  return {
    ...empty_audience,
    key: crypto.randomUUID(),
    name: "",
    chat_number_id: "",
    template_id: "",
    scheduled_at: "",
  };
}
