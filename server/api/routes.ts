// Every route of the service, in one list: the table of contents.
import type { Route } from "./route.ts";
import { accountRoutes } from "./routes/accounts/account.ts";
import { auditRoutes } from "./routes/accounts/audit.ts";
import { invitationRoutes } from "./routes/accounts/invitations.ts";
import { oidcSessionRoutes } from "./routes/accounts/oidc-session.ts";
import { passkeyRoutes } from "./routes/accounts/passkeys.ts";
import { totpRoutes } from "./routes/accounts/totp.ts";
import { ownSessionRoutes } from "./routes/accounts/own-sessions.ts";
import { roleRoutes } from "./routes/accounts/roles.ts";
import { savedViewRoutes } from "./routes/accounts/saved-views.ts";
import { sessionRoutes } from "./routes/accounts/sessions.ts";
import { tokenRoutes } from "./routes/accounts/tokens.ts";
import { userRoutes } from "./routes/accounts/users.ts";
import { groupRoutes } from "./routes/audience/groups.ts";
import { suppressionRoutes } from "./routes/audience/suppressions.ts";
import { callbackDeliveryRoutes } from "./routes/callbacks/callback-deliveries.ts";
import { callbackEndpointRoutes } from "./routes/callbacks/callback-endpoints.ts";
import { callbackReplayRoutes } from "./routes/callbacks/callback-replays.ts";
import { callRoutes } from "./routes/calls/calls.ts";
import { clickToCallRoutes } from "./routes/calls/click-to-call.ts";
import { automationFlowRoutes } from "./routes/chat/automation-flows.ts";
import { chatCampaignPaceRoutes } from "./routes/chat/chat-campaign-pace.ts";
import { chatCampaignRecipientRoutes } from "./routes/chat/chat-campaign-recipients.ts";
import { chatCampaignRecordRoutes } from "./routes/chat/chat-campaign-records.ts";
import { chatCampaignRoutes } from "./routes/chat/chat-campaigns.ts";
import { chatFlowRoutes } from "./routes/chat/chat-flows.ts";
import { chatHoldRoutes } from "./routes/chat/chat-holds.ts";
import { chatNumberRoutes } from "./routes/chat/chat-numbers.ts";
import { whatsappCredentialRoutes } from "./routes/chat/whatsapp-credentials.ts";
import { chatReplyRoutes } from "./routes/chat/chat-replies.ts";
import { simulatedReplyRoutes } from "./routes/chat/simulated-replies.ts";
import { chatTemplateRoutes } from "./routes/chat/chat-templates.ts";
import { chatTestMessageRoutes } from "./routes/chat/chat-test-messages.ts";
import { providerHookRoutes } from "./routes/chat/provider-hooks.ts";
import { agentRoutes } from "./routes/crm/agents.ts";
import { contactRoutes } from "./routes/crm/contacts.ts";
import { customFieldRoutes } from "./routes/crm/custom-fields.ts";
import { leadExportRoutes } from "./routes/crm/lead-exports.ts";
import { leadImportRoutes } from "./routes/crm/lead-imports.ts";
import { leadRecordRoutes } from "./routes/crm/lead-records.ts";
import { leadRoutes } from "./routes/crm/leads.ts";
import { picklistRoutes } from "./routes/crm/picklists.ts";
import { workspaceRoutes } from "./routes/crm/workspaces.ts";
import { agentAvailabilityRoutes } from "./routes/telephony/agent-availability.ts";
import { agentGroupRoutes } from "./routes/telephony/agent-groups.ts";
import { extensionRoutes } from "./routes/telephony/extensions.ts";
import { agentNumberRoutes } from "./routes/telephony/agent-numbers.ts";
import { phoneNumberRoutes } from "./routes/telephony/phone-numbers.ts";
import { trunkRoutes } from "./routes/telephony/trunks.ts";
import { voiceNodeRoutes } from "./routes/telephony/voice-nodes.ts";
import { aiAgentRoutes } from "./routes/voice/ai-agents.ts";
import { voiceCampaignPaceRoutes } from "./routes/voice/voice-campaign-pace.ts";
import { voiceCampaignRecordRoutes } from "./routes/voice/voice-campaign-records.ts";
import { voiceCampaignRoutes } from "./routes/voice/voice-campaigns.ts";
import { voiceFileRoutes } from "./routes/voice/voice-files.ts";
import { voiceMenuRoutes } from "./routes/voice/voice-menus.ts";
import { creditRoutes } from "./routes/credits.ts";
import { erasureRoutes } from "./routes/erasures.ts";
import { eventRoutes } from "./routes/events.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { peopleRoutes } from "./routes/people.ts";
import { reportRoutes } from "./routes/reports.ts";
import { systemRoutes } from "./routes/system.ts";

/** All routes, in the order of the published document. */
export const routes: readonly Route[] = [
  // CRM
  ...leadRoutes,
  ...leadRecordRoutes,
  ...leadImportRoutes,
  ...leadExportRoutes,
  ...contactRoutes,
  ...workspaceRoutes,
  ...agentRoutes,
  ...picklistRoutes,
  ...customFieldRoutes,
  // Chat
  ...chatNumberRoutes,
  ...whatsappCredentialRoutes,
  ...chatCampaignRoutes,
  ...chatCampaignRecordRoutes,
  ...chatCampaignRecipientRoutes,
  ...chatCampaignPaceRoutes,
  ...chatTestMessageRoutes,
  ...automationFlowRoutes,
  ...chatFlowRoutes,
  ...simulatedReplyRoutes,
  ...chatTemplateRoutes,
  ...chatReplyRoutes,
  ...chatHoldRoutes,
  // Voice campaigns and calls
  ...voiceCampaignRoutes,
  ...clickToCallRoutes,
  ...voiceCampaignRecordRoutes,
  ...voiceCampaignPaceRoutes,
  ...callRoutes,
  // Telephony: the phones of agents
  ...extensionRoutes,
  ...agentGroupRoutes,
  ...agentAvailabilityRoutes,
  // Voice content
  ...voiceFileRoutes,
  ...voiceMenuRoutes,
  ...aiAgentRoutes,
  // Telephony: switches and carriers
  ...voiceNodeRoutes,
  ...trunkRoutes,
  ...agentNumberRoutes,
  ...phoneNumberRoutes,
  // Callbacks
  ...callbackEndpointRoutes,
  ...callbackDeliveryRoutes,
  ...callbackReplayRoutes,
  // People
  ...overviewRoutes,
  ...peopleRoutes,
  // Reports
  ...reportRoutes,
  // Audience
  ...suppressionRoutes,
  ...erasureRoutes,
  ...groupRoutes,
  // Accounts
  ...accountRoutes,
  ...userRoutes,
  ...invitationRoutes,
  ...roleRoutes,
  ...sessionRoutes,
  ...ownSessionRoutes,
  ...oidcSessionRoutes,
  ...totpRoutes,
  ...passkeyRoutes,
  ...savedViewRoutes,
  ...tokenRoutes,
  ...creditRoutes,
  ...auditRoutes,
  // Live events
  ...eventRoutes,
  // Webhooks of chat providers
  ...providerHookRoutes,
  // System
  ...systemRoutes,
];
