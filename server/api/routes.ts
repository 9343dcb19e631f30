// Every route of the service, in one list: the table of contents.
import type { Route } from "./route.ts";
import { accountRoutes } from "./routes/account.ts";
import { agentGroupRoutes } from "./routes/agent-groups.ts";
import { aiAgentRoutes } from "./routes/ai-agents.ts";
import { agentRoutes } from "./routes/agents.ts";
import { auditRoutes } from "./routes/audit.ts";
import { callRoutes } from "./routes/calls.ts";
import { callbackDeliveryRoutes } from "./routes/callback-deliveries.ts";
import { callbackEndpointRoutes } from "./routes/callback-endpoints.ts";
import { callbackReplayRoutes } from "./routes/callback-replays.ts";
import { chatCampaignRecordRoutes } from "./routes/chat-campaign-records.ts";
import { chatCampaignRoutes } from "./routes/chat-campaigns.ts";
import { chatHoldRoutes } from "./routes/chat-holds.ts";
import { chatNumberRoutes } from "./routes/chat-numbers.ts";
import { chatTestMessageRoutes } from "./routes/chat-test-messages.ts";
import { automationFlowRoutes } from "./routes/automation-flows.ts";
import { chatFlowRoutes } from "./routes/chat-flows.ts";
import { chatTemplateRoutes } from "./routes/chat-templates.ts";
import { chatReplyRoutes } from "./routes/chat-replies.ts";
import { creditRoutes } from "./routes/credits.ts";
import { customFieldRoutes } from "./routes/custom-fields.ts";
import { clickToCallRoutes } from "./routes/click-to-call.ts";
import { contactRoutes } from "./routes/contacts.ts";
import { erasureRoutes } from "./routes/erasures.ts";
import { eventRoutes } from "./routes/events.ts";
import { extensionRoutes } from "./routes/extensions.ts";
import { groupRoutes } from "./routes/groups.ts";
import { leadExportRoutes } from "./routes/lead-exports.ts";
import { leadImportRoutes } from "./routes/lead-imports.ts";
import { leadRecordRoutes } from "./routes/lead-records.ts";
import { leadRoutes } from "./routes/leads.ts";
import { picklistRoutes } from "./routes/picklists.ts";
import { providerHookRoutes } from "./routes/provider-hooks.ts";
import { reportRoutes } from "./routes/reports.ts";
import { roleRoutes } from "./routes/roles.ts";
import { suppressionRoutes } from "./routes/suppressions.ts";
import { systemRoutes } from "./routes/system.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { trunkRoutes } from "./routes/trunks.ts";
import { userRoutes } from "./routes/users.ts";
import { voiceCampaignRecordRoutes } from "./routes/voice-campaign-records.ts";
import { voiceCampaignRoutes } from "./routes/voice-campaigns.ts";
import { voiceFileRoutes } from "./routes/voice-files.ts";
import { voiceMenuRoutes } from "./routes/voice-menus.ts";
import { voiceNodeRoutes } from "./routes/voice-nodes.ts";
import { workspaceRoutes } from "./routes/workspaces.ts";

export const routes: readonly Route[] = [
  ...leadRoutes,
  ...leadRecordRoutes,
  ...leadImportRoutes,
  ...leadExportRoutes,
  ...contactRoutes,
  ...workspaceRoutes,
  ...agentRoutes,
  ...picklistRoutes,
  ...customFieldRoutes,
  ...chatNumberRoutes,
  ...chatCampaignRoutes,
  ...chatCampaignRecordRoutes,
  ...chatTestMessageRoutes,
  ...automationFlowRoutes,
  ...chatFlowRoutes,
  ...chatTemplateRoutes,
  ...chatReplyRoutes,
  ...chatHoldRoutes,
  ...voiceCampaignRoutes,
  ...clickToCallRoutes,
  ...voiceCampaignRecordRoutes,
  ...callRoutes,
  ...extensionRoutes,
  ...agentGroupRoutes,
  ...voiceFileRoutes,
  ...voiceMenuRoutes,
  ...aiAgentRoutes,
  ...voiceNodeRoutes,
  ...trunkRoutes,
  ...callbackEndpointRoutes,
  ...callbackDeliveryRoutes,
  ...callbackReplayRoutes,
  ...reportRoutes,
  ...suppressionRoutes,
  ...erasureRoutes,
  ...groupRoutes,
  ...accountRoutes,
  ...userRoutes,
  ...roleRoutes,
  ...tokenRoutes,
  ...creditRoutes,
  ...auditRoutes,
  ...eventRoutes,
  ...providerHookRoutes,
  ...systemRoutes,
];
