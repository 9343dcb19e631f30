import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { queryClient } from "../../../api/query-client.ts";
import { aiAgentsQuery, menusQuery, voiceFilesQuery } from "../../../api/voice.ts";
import { placeholdersOf } from "../../../from-server.ts";
import { useMay } from "../../../ui/permission.ts";
import { reportSent } from "../../campaigns/report-sent.ts";
import type { FieldErrors } from "../../campaigns/use-audience.ts";
import { missingRecipients, useCampaignDraft } from "../../campaigns/use-campaign-draft.ts";
import { launchVoiceDraft, previewVoiceDraft, type ReadyVoiceDraft } from "./submit-voice-draft.ts";
import { beginVoiceDraft, voiceDraftsFor, type VoiceDraft } from "./voice-draft.ts";

const route = getRouteApi("/shell/voice/campaigns/new");

/** The composer of a voice campaign. */
export function useVoiceComposer() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [drafts] = useState(() => voiceDraftsFor(search));
  // Only once: a reload keeps what was changed since. The number says which draft it is.
  const { to } = search;
  useEffect(
    () => void navigate({ to: ".", search: { to }, replace: true, resetScroll: false }),
    [],
  );
  const { data: files = [], isSuccess, error } = useQuery(voiceFilesQuery);
  const { data: menus = [] } = useQuery(menusQuery);
  const { data: agents = [] } = useQuery(aiAgentsQuery);
  const contentOf = ({ call_type, voice_file_id }: VoiceDraft) => {
    const file = files.find(({ id }) => String(id) === voice_file_id);
    return {
      file,
      script: call_type === "obd_smartvoice" ? file?.script : undefined,
      menu: call_type === "obd_ivr" ? menus.find(({ id }) => id === file?.menu_id) : undefined,
      agent: call_type === "ai_bot" ? agents.find(({ id }) => id === file?.ai_agent_id) : undefined,
    };
  };
  const may_see = useMay("voice.campaigns.read", "voice.campaigns.manage");
  const composer = useCampaignDraft({
    drafts,
    begin: () => beginVoiceDraft(drafts, search),
    keysOf: (draft: VoiceDraft) => {
      const { script, menu, agent } = contentOf(draft);
      return variablesOf([script, menu?.nodes, agent]);
    },
    missingIn,
    preview: previewVoiceDraft,
    send: launchVoiceDraft,
    may_see,
    onSent: async ({ campaignId: id }, draft) => {
      if (!may_see) return reportSent(id, draft);
      await queryClient.invalidateQueries({ queryKey: ["voice-campaigns"] });
      await navigate({ to: "/voice/campaigns/$id", params: { id } });
    },
  });
  return { ...composer, files: { rows: files, isSuccess, error }, ...contentOf(composer.draft) };
}

export type VoiceComposer = ReturnType<typeof useVoiceComposer>;

/** What the dry run reported of a field. */
export const errorOf = ({ errors }: VoiceComposer, name: string) =>
  errors.find(({ field }) => field === name)?.reason;

/** Returns the distinct variables of all texts in a value. */
function variablesOf(value: unknown): readonly string[] {
  return [
    ...new Set(textsOf(value).flatMap((text) => placeholdersOf(text).map((one) => one.name))),
  ];
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

function missingIn(ready: ReadyVoiceDraft): FieldErrors {
  const { name, voice_file_id } = ready.draft;
  const columns = Object.values(ready.mapping);
  const is_distinct = ready.large === null || new Set(columns).size === columns.length;
  const required = [
    ["name", name.trim() !== "", "Give the campaign a name."],
    ["voice_file_id", voice_file_id !== "", "Choose the content."],
    ...missingRecipients(ready),
    ["contacts", is_distinct, "Each column of a large file can fill one variable."],
  ] as const;
  return required.flatMap(([field, given, reason]) => (given ? [] : [{ field, reason }]));
}
