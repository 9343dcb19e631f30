import { useQuery } from "@tanstack/react-query";
import { templatesQuery, type CampaignDetail } from "../../api/chat.ts";
import { hold_words, template_hold_words } from "../../messages/hold-reasons.ts";

type Hold = Pick<CampaignDetail["holds"][number], "scope" | "subject_id" | "reason">;

/** Returns why messages are kept back; of a template, by its status as it is now. */
export function useHoldWords({ scope, subject_id, reason }: Partial<Hold> & Pick<Hold, "reason">) {
  const enabled = scope === "template" && reason === "template_paused";
  const { data: templates } = useQuery({ ...templatesQuery, enabled });
  const words = hold_words[reason];
  const template = enabled && templates?.find(({ id }) => id === subject_id);
  return template ? { ...words, ...template_hold_words[template.status] } : words;
}
