import { useQuery } from "@tanstack/react-query";
import {
  aiAgentQuery,
  menuQuery,
  voiceFileQuery,
  type Menu,
  type VoiceCampaign,
} from "../../api/voice.ts";
import { useMay } from "../../ui/permission.ts";

/** Returns the voice file of a menu or an AI agent, as it is now, if it may be read. */
function useFileOf({ call_type, voice_file_id }: VoiceCampaign) {
  const reads = useMay("voice.content.read");
  const manages = useMay("voice.content.manage");
  const enabled = (call_type === "obd_ivr" || call_type === "ai_bot") && (reads || manages);
  return useQuery({ ...voiceFileQuery(voice_file_id), enabled }).data;
}

/** Returns the campaign's menu as it is now, if it has one that may be read. */
export function useMenuOf(campaign: VoiceCampaign): Menu | undefined {
  const file = useFileOf(campaign);
  const menu_id = (campaign.call_type === "obd_ivr" && file?.menu_id) || null;
  return useQuery({ ...menuQuery(menu_id ?? 0), enabled: menu_id !== null }).data;
}

/** Returns whether the menu or the AI agent, as it is now, can transfer a call to a person. */
export function useReachesAgent(campaign: VoiceCampaign): boolean {
  const menu = useMenuOf(campaign);
  const file = useFileOf(campaign);
  const agent_id = (campaign.call_type === "ai_bot" && file?.ai_agent_id) || null;
  const agent = useQuery({ ...aiAgentQuery(agent_id ?? 0), enabled: agent_id !== null }).data;
  const nodes = Object.values(menu?.nodes ?? {});
  return nodes.some(({ type }) => type === "transfer") || Boolean(agent?.transfer_to);
}
