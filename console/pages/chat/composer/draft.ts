// The draft of a campaign: survives a reload, and has one idempotency key, so that it is sent once.

import type { ComposerSearch } from "../campaigns-search.ts";

export type Draft = {
  readonly key: string;
  readonly name: string;
  readonly chat_number_id: string;
  readonly template_id: string;
  /** Where the recipients come from. */
  readonly source: "list" | "group";
  readonly group_id: string;
  /** Pasted, or read from a file. */
  readonly list: string;
  /** The chosen column of the numbers; empty: the one whose name says so. */
  readonly phone_column: string;
  /** The chosen column of a variable; an empty text is none. */
  readonly mapping: Readonly<Record<string, string>>;
  /** Local to the account's time zone; empty: now. */
  readonly scheduled_at: string;
};

const storage_key = "chat-campaign-draft";

/** Returns the draft of this tab with the given template, or a new draft to one number. */
export function beginDraft({ to, template }: ComposerSearch): Draft {
  const draft = to === undefined ? readDraft() : newDraft(to);
  return template === undefined ? draft : { ...draft, template_id: String(template), mapping: {} };
}

/** Returns the draft of this tab, or a new one. */
export function readDraft(): Draft {
  const kept = sessionStorage.getItem(storage_key);
  return kept === null ? newDraft() : (JSON.parse(kept) as Draft);
}

function newDraft(list = ""): Draft {
  return {
    key: crypto.randomUUID(),
    name: "",
    chat_number_id: "",
    template_id: "",
    source: "list",
    group_id: "",
    list,
    phone_column: "",
    mapping: {},
    scheduled_at: "",
  };
}

export function keepDraft(draft: Draft): void {
  try {
    sessionStorage.setItem(storage_key, JSON.stringify(draft));
  } catch {
    // Too large for the browser's storage: everything but the recipients survives a reload.
    sessionStorage.setItem(storage_key, JSON.stringify({ ...draft, list: "" }));
  }
}

/** Drops the draft; the next one is another campaign. */
export function dropDraft(): void {
  sessionStorage.removeItem(storage_key);
}
