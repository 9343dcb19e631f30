import type { AudienceDraft } from "./use-audience.ts";

/** The drafts of one kind of campaign: each tab has one, which survives a reload. */
export type DraftStore<Draft> = {
  /** Whether a draft says nothing yet. */
  readonly isNew: (draft: Draft) => boolean;
  /** Whether it began as the draft of this tab, and that one says something. */
  readonly isContinued: (draft: Draft) => boolean;
  /** Returns the draft of this tab, or a new one. */
  readonly read: () => Draft;
  readonly keep: (draft: Draft) => void;
  /** Drops the draft; the next one is another campaign. */
  readonly drop: () => void;
};

/** `filled_in` are the fields that the composer fills in by itself. */
export function draftStore<Draft extends AudienceDraft & { readonly key: string }>(
  key: string,
  begin: () => Draft,
  filled_in: readonly string[],
): DraftStore<Draft> {
  const ignored = new Set(["key", ...filled_in]);
  const said = (draft: Draft) =>
    JSON.stringify(draft, (name, value: unknown) => (ignored.has(name) ? null : value));
  const isNew = (draft: Draft) => said(draft) === said(begin());
  const read = () => {
    const kept = sessionStorage.getItem(key);
    return kept === null ? begin() : (JSON.parse(kept) as Draft);
  };
  return {
    isNew,
    isContinued({ key: shown }) {
      const kept = read();
      return kept.key === shown && !isNew(kept);
    },
    read,
    keep(draft) {
      try {
        sessionStorage.setItem(key, JSON.stringify(draft));
      } catch {
        // Too large for the browser's storage: everything but the recipients survives a reload.
        sessionStorage.setItem(key, JSON.stringify({ ...draft, list: "" }));
      }
    },
    drop: () => sessionStorage.removeItem(key),
  };
}
