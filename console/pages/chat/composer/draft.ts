// The draft of a campaign: has one idempotency key, so that it is sent once.
import Papa from "papaparse";
import { draftStore } from "../../campaigns/draft-store.ts";
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

export const drafts = draftStore("chat-campaign-draft", newDraft, ["chat_number_id"]);

/** Returns the draft of this tab with the given template, or a new draft to one person. */
export function beginDraft({ to, name, template }: ComposerSearch): Draft {
  const line = name === undefined ? [to] : [to, name];
  const draft = to === undefined ? drafts.read() : { ...newDraft(), list: Papa.unparse([line]) };
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
