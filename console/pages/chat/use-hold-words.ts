import { useQuery } from "@tanstack/react-query";
import type { CampaignDetail } from "../../api/chat.ts";
import { useRefresh } from "../../api/live.ts";
import { templateQuery } from "../../api/templates.ts";
import { hold_words, template_hold_words } from "../../messages/hold-reasons.ts";
import { useMay } from "../../ui/permission.ts";

type Hold = Pick<CampaignDetail["holds"][number], "scope" | "subject_id" | "reason">;

/** Returns why messages are kept back; of a template that the user may see, by its status as it is now. */
export function useHoldWords({ scope, subject_id, reason }: Partial<Hold> & Pick<Hold, "reason">) {
  const may_see = useMay("chat.read", "chat.campaigns.create", "chat.manage");
  const enabled = may_see && scope === "template" && reason === "template_paused";
  const { data: template } = useQuery({ ...templateQuery(subject_id ?? 0), enabled });
  useRefresh(["chat.template.updated"], ["chat-templates"]);
  const words = hold_words[reason];
  return template ? { ...words, ...template_hold_words[template.status] } : words;
}
