import { useMutation } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ApiProblem } from "../../api/problem.ts";
import type { DraftStore } from "./draft-store.ts";
import type { Audience, Contact } from "./read-audience.ts";
import type { LargeFile } from "./read-file.ts";
import { useAudience, type AudienceDraft, type FieldErrors } from "./use-audience.ts";

/** A draft with everything that is sent. */
export type ReadyDraft<Draft extends AudienceDraft> = {
  readonly draft: Draft;
  /** The file that the server reads instead of `contacts`. */
  readonly large: LargeFile | null;
  readonly audience: Audience;
  readonly mapping: Readonly<Record<string, number>>;
  readonly contacts: readonly Contact[];
  /** Of the account. */
  readonly country_code: string;
  /** Percent of the file that have arrived. */
  readonly onProgress: (percent: number) => void;
};

type Kind<Draft extends AudienceDraft, Preview, Created> = {
  readonly drafts: DraftStore<Draft>;
  /** Returns the draft to begin with. */
  readonly begin: () => Draft;
  /** The variables that columns can fill. */
  readonly keysOf: (draft: Draft) => readonly string[];
  /** Returns what is missing, which the API would not name by field. */
  readonly missingIn: (ready: ReadyDraft<Draft>) => FieldErrors;
  readonly preview: (ready: ReadyDraft<Draft>) => Promise<Preview>;
  /** Sends it; a repetition, also after a reload or a lost answer, returns the same campaign. */
  readonly send: (ready: ReadyDraft<Draft>) => Promise<Created>;
  /** Whether its page, to which `onSent` leads, is open to the user; otherwise the next draft begins. */
  readonly may_see: boolean;
  readonly onSent: (created: Created, draft: Draft) => Promise<void>;
};

/** A campaign's draft with everything that follows from it, its dry run, and its sending. */
export function useCampaignDraft<Draft extends AudienceDraft, Preview, Created>(
  kind: Kind<Draft, Preview, Created>,
) {
  const { drafts, begin, keysOf, missingIn, preview, may_see, onSent } = kind;
  const [draft, setDraft] = useState(begin);
  const [isContinued, setIsContinued] = useState(() => drafts.isContinued(draft));
  useEffect(() => drafts.keep(draft), [drafts, draft]);
  const [uploaded, setUploaded] = useState(0);
  const [missing, setMissing] = useState<FieldErrors>([]);
  const change = (changed: Partial<Draft>) => {
    reset();
    setDraft((old) => ({ ...old, ...changed }));
  };
  const names = keysOf(draft).join("\n");
  const keys = useMemo(() => (names === "" ? [] : names.split("\n")), [names]);
  const { drop, ...recipients } = useAudience(draft, keys, (changed) =>
    change(changed as Partial<Draft>),
  );
  const ready = { draft, ...recipients, onProgress: setUploaded };
  const dryRun = useMutation({
    mutationFn: (changed: Partial<Draft>) => preview({ ...ready, draft: { ...draft, ...changed } }),
  });
  const send = useMutation({
    mutationFn: () => kind.send(ready),
    onSuccess: async (created) => {
      if (may_see) drafts.drop();
      else beginNext();
      await onSent(created, draft);
    },
  });
  const reset = () => {
    setMissing([]);
    dryRun.reset();
    send.reset();
  };
  const beginNext = () => {
    reset();
    drop();
    drafts.drop();
    setIsContinued(false);
    setDraft(drafts.read());
  };
  return {
    draft,
    may_see,
    isNew: drafts.isNew(draft),
    isContinued,
    ...recipients,
    uploaded,
    keys,
    dryRun,
    errors: dryRun.error instanceof ApiProblem ? dryRun.error.errors : missing,
    send,
    reset,
    /** Makes the dry run, of a changed draft if given. */
    check(changed: Partial<Draft> = {}) {
      const found = missingIn(ready);
      change(changed);
      setMissing(found);
      if (found.length === 0) dryRun.mutate(changed);
    },
    change,
    discard: beginNext,
  };
}

/** Returns what is missing of the recipients. */
export function missingRecipients({
  draft: { source, group_id },
  large,
  audience,
  contacts,
}: ReadyDraft<AudienceDraft>): readonly (readonly [
  field: string,
  given: boolean,
  reason: string,
])[] {
  const is_named = large === null || audience.has_heading;
  // The server reads the rows of a large file, and rejects such ones.
  const longer = large === null ? audience.longer_row : undefined;
  return [
    ["contacts", source === "group" || contacts.length > 0, "Add at least one number."],
    ["contacts", source === "group" || is_named, "The file's first line must name its columns."],
    [
      "contacts",
      source === "group" || longer === undefined,
      `A line has more values than the first line has names: ${longer?.join(", ")}. Put values that contain the separator in quotes.`,
    ],
    ["group_id", source === "list" || group_id !== "", "Choose a group."],
  ];
}
