import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { templatesQuery } from "../../../api/chat.ts";
import { api, body } from "../../../api/client.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { queryClient } from "../../../api/query-client.ts";
import { dropDraft, keepDraft, readDraft, type Draft } from "./draft.ts";
import { contactsOf, defaultMapping, readAudience, type Contact } from "./read-audience.ts";

export type FieldErrors = readonly { readonly field: string; readonly reason: string }[];

const route = getRouteApi("/shell/chat/campaigns/new");

/** The draft with everything that follows from it, its dry run, and its sending. */
export function useComposer() {
  const { to } = route.useSearch();
  const [draft, setDraft] = useState(() => readDraft(to));
  useEffect(() => keepDraft(draft), [draft]);
  const navigate = useNavigate();
  const { data: templates = [] } = useQuery(templatesQuery);
  const template = templates.find(({ id }) => String(id) === draft.template_id);
  const keys = useMemo(() => template?.variables.map(({ key }) => key) ?? [], [template]);
  const audience = useMemo(() => readAudience(draft.list), [draft.list]);
  const mapping = useMemo(
    () => mappingOf(draft.mapping, defaultMapping(audience, keys)),
    [draft.mapping, audience, keys],
  );
  const contacts = useMemo(() => contactsOf(audience, mapping), [audience, mapping]);
  const dryRun = useMutation({ mutationFn: () => preview(draft, contacts) });
  const send = useMutation({
    mutationFn: () => create(draft, contacts),
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
  return {
    draft,
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
      const found = missingIn(draft, contacts);
      setMissing(found);
      if (found.length === 0) dryRun.mutate();
    },
    change(changed: Partial<Draft>) {
      reset();
      setDraft((old) => ({ ...old, ...changed }));
    },
    discard() {
      reset();
      dropDraft();
      setDraft(readDraft());
    },
  };
}

export type Composer = ReturnType<typeof useComposer>;

/** The API answers a campaign without a message or recipients as a whole, not by field (contract 4.2). */
function missingIn(draft: Draft, contacts: readonly Contact[]): FieldErrors {
  const { name, chat_number_id, template_id, source, group_id } = draft;
  const required: readonly (readonly [string, boolean, string])[] = [
    ["name", name.trim() !== "", "Give the campaign a name."],
    ["chat_number_id", chat_number_id !== "", "Choose the number to send from."],
    ["template_id", template_id !== "", "Choose what to send."],
    ["contacts", source === "group" || contacts.length > 0, "Add at least one number."],
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

function preview(draft: Draft, contacts: readonly Contact[]) {
  return draft.source === "group"
    ? body(
        api.POST("/api/v1/chat/campaigns/group/preview", {
          body: { ...headOf(draft), group_id: Number(draft.group_id) },
        }),
      )
    : body(
        api.POST("/api/v1/chat/campaigns/preview", {
          body: { ...headOf(draft), contacts: [...contacts] },
        }),
      );
}

/** A repetition, also after a reload or a lost answer, has the draft's key and returns the same campaign. */
function create(draft: Draft, contacts: readonly Contact[]) {
  const params = { header: { "idempotency-key": draft.key } };
  return draft.source === "group"
    ? body(
        api.POST("/api/v1/chat/campaigns/group", {
          params,
          body: { ...headOf(draft), group_id: Number(draft.group_id) },
        }),
      )
    : body(
        api.POST("/api/v1/chat/campaigns", {
          params,
          body: { ...headOf(draft), contacts: [...contacts] },
        }),
      );
}

/** What was not chosen is left out, so that the answer asks for it. */
function headOf({ name, chat_number_id, template_id, scheduled_at }: Draft) {
  return {
    name,
    chat_number_id: Number(chat_number_id),
    ...(template_id === "" ? {} : { template_id: Number(template_id) }),
    ...(scheduled_at === "" ? {} : { scheduled_at }),
  };
}
