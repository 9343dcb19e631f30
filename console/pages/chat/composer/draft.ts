// The draft of a campaign: has one idempotency key, so that it is sent once.
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

/** Returns the draft of this tab with the given template, or a new draft to one number. */
export function beginDraft({ to, template }: ComposerSearch): Draft {
  const draft = to === undefined ? drafts.read() : { ...newDraft(), list: to };
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
