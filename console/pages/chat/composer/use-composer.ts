import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { templatesQuery } from "../../../api/chat.ts";
import { queryClient } from "../../../api/query-client.ts";
import { useMay } from "../../../ui/permission.ts";
import { reportSent } from "../../campaigns/report-sent.ts";
import type { FieldErrors } from "../../campaigns/use-audience.ts";
import { missingRecipients, useCampaignDraft } from "../../campaigns/use-campaign-draft.ts";
import { beginDraft, draftsFor, type Draft } from "./draft.ts";
import { previewDraft, sendDraft, type ReadyChatDraft } from "./submit-draft.ts";

const route = getRouteApi("/shell/chat/campaigns/new");

/** The composer of a chat campaign. */
export function useComposer() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [drafts] = useState(() => draftsFor(search));
  // Only once: a reload keeps what was changed since. The person says which draft it is.
  useEffect(
    () =>
      void navigate({
        to: ".",
        search: { ...search, template: undefined },
        replace: true,
        resetScroll: false,
      }),
    [],
  );
  const { data: templates = [] } = useQuery(templatesQuery);
  const templateOf = ({ template_id }: Draft) =>
    templates.find(({ id }) => String(id) === template_id);
  const may_see = useMay("chat.read", "chat.campaigns.manage");
  const composer = useCampaignDraft({
    drafts,
    begin: () => beginDraft(drafts, search),
    keysOf: (draft: Draft) => templateOf(draft)?.variables.map(({ key }) => key) ?? [],
    missingIn,
    preview: previewDraft,
    send: sendDraft,
    may_see,
    onSent: async ({ id }, draft) => {
      if (!may_see) return reportSent(id, draft);
      await queryClient.invalidateQueries({ queryKey: ["chat-campaigns"] });
      await navigate({ to: "/chat/campaigns/$id", params: { id } });
    },
  });
  return { ...composer, templates, template: templateOf(composer.draft) };
}

export type Composer = ReturnType<typeof useComposer>;

/** The API answers a campaign without a message or recipients as a whole, not by field (contract 4.2). */
function missingIn(ready: ReadyChatDraft): FieldErrors {
  const { name, chat_number_id, template_id } = ready.draft;
  const required = [
    ["name", name.trim() !== "", "Give the campaign a name."],
    ["chat_number_id", chat_number_id !== "", "Choose the number to send from."],
    ["template_id", template_id !== "", "Choose what to send."],
    ...missingRecipients(ready),
  ] as const;
  return required.flatMap(([field, given, reason]) => (given ? [] : [{ field, reason }]));
}
