import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { templatesQuery } from "../../../api/chat.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { queryClient } from "../../../api/query-client.ts";
import { beginDraft, dropDraft, keepDraft, readDraft, type Draft } from "./draft.ts";
import { contactsOf, defaultMapping, readAudience } from "./read-audience.ts";
import { readFile, type LargeFile } from "./read-file.ts";
import { previewDraft, sendDraft, type ReadyDraft } from "./submit-draft.ts";

export type FieldErrors = readonly { readonly field: string; readonly reason: string }[];

const route = getRouteApi("/shell/chat/campaigns/new");

/** The draft with everything that follows from it, its dry run, and its sending. */
export function useComposer() {
  const search = route.useSearch();
  const [draft, setDraft] = useState(() => beginDraft(search));
  useEffect(() => keepDraft(draft), [draft]);
  const navigate = useNavigate();
  // Only once: a reload keeps what was changed since.
  useEffect(() => void navigate({ to: ".", search: {}, replace: true, resetScroll: false }), []);
  const { data: templates = [] } = useQuery(templatesQuery);
  const template = templates.find(({ id }) => String(id) === draft.template_id);
  const keys = useMemo(() => template?.variables.map(({ key }) => key) ?? [], [template]);
  const [large, setLarge] = useState<LargeFile | null>(null);
  const [uploaded, setUploaded] = useState(0);
  const { audience, mapping, contacts } = useRecipients(draft, large?.head ?? draft.list, keys);
  const file = large?.file ?? null;
  const ready = { draft, file, audience, mapping, contacts, onProgress: setUploaded };
  const dryRun = useMutation({ mutationFn: () => previewDraft(ready) });
  const send = useMutation({
    mutationFn: () => sendDraft(ready),
    onSuccess: async ({ id }) => {
      dropDraft();
      await queryClient.invalidateQueries({ queryKey: ["chat-campaigns"] });
      await navigate({ to: "/chat/campaigns/$id", params: { id } });
    },
  });
  const [missing, setMissing] = useState<FieldErrors>([]);
  const reset = () => {
    setMissing([]);
    dryRun.reset();
    send.reset();
  };
  const change = (changed: Partial<Draft>) => {
    reset();
    setDraft((old) => ({ ...old, ...changed }));
  };
  return {
    draft,
    file,
    /** Percent of the file that have arrived. */
    uploaded,
    templates,
    template,
    keys,
    audience,
    mapping,
    contacts,
    dryRun,
    errors: dryRun.error instanceof ApiProblem ? dryRun.error.errors : missing,
    send,
    reset,
    check() {
      const found = missingIn(ready);
      setMissing(found);
      if (found.length === 0) dryRun.mutate();
    },
    change,
    /** Takes the recipients from a file; null: from the list again. */
    async choose(chosen: File | null) {
      const read = chosen ? await readFile(chosen) : "";
      const is_text = typeof read === "string";
      setLarge(is_text ? null : read);
      change({ list: is_text ? read : "", phone_column: "", mapping: {} });
    },
    discard() {
      reset();
      setLarge(null);
      dropDraft();
      setDraft(readDraft());
    },
  };
}

export type Composer = ReturnType<typeof useComposer>;

/** Reads the recipients and their values from a text. */
function useRecipients(draft: Draft, text: string, keys: readonly string[]) {
  const { phone_column, mapping: chosen } = draft;
  const audience = useMemo(() => readAudience(text, phone_column), [text, phone_column]);
  const mapping = useMemo(
    () => mappingOf(chosen, defaultMapping(audience, keys)),
    [chosen, audience, keys],
  );
  const contacts = useMemo(() => contactsOf(audience, mapping), [audience, mapping]);
  return { audience, mapping, contacts };
}

/** The API answers a campaign without a message or recipients as a whole, not by field (contract 4.2). */
function missingIn({ draft, file, audience, contacts }: ReadyDraft): FieldErrors {
  const { name, chat_number_id, template_id, source, group_id } = draft;
  const is_named = file === null || audience.has_heading;
  const required: readonly (readonly [string, boolean, string])[] = [
    ["name", name.trim() !== "", "Give the campaign a name."],
    ["chat_number_id", chat_number_id !== "", "Choose the number to send from."],
    ["template_id", template_id !== "", "Choose what to send."],
    ["contacts", source === "group" || contacts.length > 0, "Add at least one number."],
    ["contacts", source === "group" || is_named, "The file's first line must name its columns."],
    ["group_id", source === "list" || group_id !== "", "Choose a group."],
  ];
  return required.flatMap(([field, given, reason]) => (given ? [] : [{ field, reason }]));
}

/** The chosen columns over the default ones; an empty choice means the template's default. */
function mappingOf(
  chosen: Draft["mapping"],
  defaults: Readonly<Record<string, number>>,
): Record<string, number> {
  const columns = Object.keys(defaults).flatMap((key) => {
    const column = chosen[key] ?? String(defaults[key]);
    return column === "" ? [] : [[key, Number(column)] as const];
  });
  return Object.fromEntries(columns);
}
