// Every page of the console: its path, its title, the permission it needs and how it is loaded.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import type { Permission } from "../server/accounts/permissions.ts";
import { currentMe } from "./api/me.ts";
import { ApiProblem } from "./api/problem.ts";
import { ErrorPage } from "./shell/error-page.tsx";
import { idParam } from "./shell/id-param.ts";
import { firstPage, see_overview } from "./shell/navigation.ts";
import { NotFoundPage } from "./shell/not-found-page.tsx";
import { Root } from "./shell/root.tsx";
import { readCallsSearch, readDialerSearch } from "./pages/calls/calls-search.ts";
import {
  readCampaignsSearch,
  readComposerSearch,
  readRecipientSearch,
} from "./pages/chat/campaigns-search.ts";
import { readDeliverySearch } from "./pages/developers/developers-search.ts";
import { readTemplatesSearch } from "./pages/templates/templates-search.ts";
import {
  readContactsSearch,
  readImportSearch,
  readLeadSearch,
  readLeadsSearch,
} from "./pages/leads/leads-search.ts";
import { readRepliesSearch } from "./pages/replies/replies-search.ts";
import { readReportsSearch } from "./pages/reports/reports-search.ts";
import { readAuditSearch, readLedgerSearch } from "./pages/settings/settings-search.ts";
import { readSuppressionsSearch } from "./pages/suppressions/suppressions-search.ts";
import {
  readVoiceCampaignsSearch,
  readVoiceComposerSearch,
  readVoiceRecipientSearch,
} from "./pages/voice/voice-search.ts";
import { parseSearch, stringifySearch } from "./shell/search-params.ts";
import { keepFor } from "./shell/tab-storage.ts";
import { readPhoneSearch } from "./ui/read-phone-search.ts";

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
  interface StaticDataRouteOption {
    /** In the browser's tab and the page's heading. */
    title?: string;
    /** Without it, or without any of several, the page only says so. */
    permission?: Permission | readonly Permission[];
  }
}

const root = createRootRoute({ component: Root, notFoundComponent: NotFoundPage });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  staticData: { title: "Sign in" },
  validateSearch: (search: Record<string, unknown>): { to?: string } =>
    // Only paths of the console: `//host` is another site.
    typeof search["to"] === "string" && /^\/(?!\/)/.test(search["to"]) ? { to: search["to"] } : {},
  component: lazyRouteComponent(() => import("./pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});

const forgot = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/forgot",
  staticData: { title: "Forgot your password?" },
  component: lazyRouteComponent(() => import("./pages/sign-in/forgot-page.tsx"), "ForgotPage"),
});

const reset = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/reset",
  staticData: { title: "Choose a new password" },
  component: lazyRouteComponent(() => import("./pages/sign-in/reset-page.tsx"), "ResetPage"),
});

const oidc = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/oidc",
  staticData: { title: "Sign in" },
  component: lazyRouteComponent(() => import("./pages/sign-in/oidc-page.tsx"), "OidcPage"),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/invitation",
  staticData: { title: "Invitation" },
  component: lazyRouteComponent(
    () => import("./pages/sign-in/invitation-page.tsx"),
    "InvitationPage",
  ),
});

/** Pages behind the sign-in, in the frame with the navigation. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: async ({ location }) => {
    try {
      const me = await currentMe();
      keepFor(me);
      return { me };
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.status !== 401) throw error;
      // oxlint-disable-next-line only-throw-error -- The router's own way to redirect.
      throw redirect({ to: "/sign-in", search: { to: location.href } });
    }
  },
  component: lazyRouteComponent(() => import("./shell/shell.tsx"), "Shell"),
});

const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  staticData: { title: "Overview", permission: see_overview },
  beforeLoad: ({ context: { me } }) => {
    const to = firstPage(me.permissions);
    // oxlint-disable-next-line only-throw-error -- The same.
    if (to !== "/") throw redirect({ to });
  },
  component: lazyRouteComponent(() => import("./pages/overview/overview-page.tsx"), "OverviewPage"),
});

const leads = createRoute({
  getParentRoute: () => shell,
  path: "/leads",
  staticData: { title: "Leads", permission: "crm.read" },
  validateSearch: readLeadsSearch,
  component: lazyRouteComponent(() => import("./pages/leads/leads-page.tsx"), "LeadsPage"),
});

const importLeads = createRoute({
  getParentRoute: () => shell,
  path: "/leads/import",
  staticData: { title: "Import leads", permission: "crm.import" },
  validateSearch: readImportSearch,
  component: lazyRouteComponent(() => import("./pages/leads/import-page.tsx"), "ImportPage"),
});

const lead = createRoute({
  getParentRoute: () => shell,
  path: "/leads/$leadId",
  staticData: { title: "Lead", permission: "crm.read" },
  validateSearch: readLeadSearch,
  component: lazyRouteComponent(() => import("./pages/leads/lead-page.tsx"), "LeadPage"),
});

const contacts = createRoute({
  getParentRoute: () => shell,
  path: "/contacts",
  staticData: { title: "Contacts", permission: "crm.read" },
  validateSearch: readContactsSearch,
  component: lazyRouteComponent(() => import("./pages/contacts/contacts-page.tsx"), "ContactsPage"),
});

const person = createRoute({
  getParentRoute: () => shell,
  path: "/people/$phone",
  staticData: { title: "Person" },
  component: lazyRouteComponent(() => import("./pages/people/person-page.tsx"), "PersonPage"),
});

const see_campaigns = ["chat.read", "chat.campaigns.manage"] as const;

const chatCampaigns = createRoute({
  getParentRoute: () => shell,
  path: "/chat/campaigns",
  staticData: { title: "Chat campaigns", permission: see_campaigns },
  validateSearch: readCampaignsSearch,
  component: lazyRouteComponent(() => import("./pages/chat/campaigns-page.tsx"), "CampaignsPage"),
});

const newChatCampaign = createRoute({
  getParentRoute: () => shell,
  path: "/chat/campaigns/new",
  staticData: { title: "New chat campaign", permission: "chat.campaigns.create" },
  validateSearch: readComposerSearch,
  remountDeps: ({ search: { to } }) => to,
  component: lazyRouteComponent(
    () => import("./pages/chat/composer/composer-page.tsx"),
    "ComposerPage",
  ),
});

const chatCampaign = createRoute({
  getParentRoute: () => shell,
  path: "/chat/campaigns/$id",
  staticData: { title: "Chat campaign", permission: see_campaigns },
  params: idParam,
  validateSearch: readRecipientSearch,
  component: lazyRouteComponent(() => import("./pages/chat/campaign-page.tsx"), "CampaignPage"),
});

const see_chat = ["chat.read", "chat.campaigns.create", "chat.manage"] as const;

const chatFlows = createRoute({
  getParentRoute: () => shell,
  path: "/chat/flows",
  staticData: { title: "Chat flows", permission: see_chat },
  component: lazyRouteComponent(() => import("./pages/flows/flows-page.tsx"), "FlowsPage"),
});

const chatNumbers = createRoute({
  getParentRoute: () => shell,
  path: "/chat/numbers",
  staticData: { title: "Chat numbers", permission: see_chat },
  component: lazyRouteComponent(
    () => import("./pages/numbers/chat-numbers-page.tsx"),
    "ChatNumbersPage",
  ),
});

const templates = createRoute({
  getParentRoute: () => shell,
  path: "/chat/templates",
  staticData: { title: "Templates", permission: see_chat },
  validateSearch: readTemplatesSearch,
  component: lazyRouteComponent(
    () => import("./pages/templates/templates-page.tsx"),
    "TemplatesPage",
  ),
});

const newTemplate = createRoute({
  getParentRoute: () => shell,
  path: "/chat/templates/new",
  staticData: { title: "New template", permission: "chat.manage" },
  component: lazyRouteComponent(
    () => import("./pages/templates/new-template-page.tsx"),
    "NewTemplatePage",
  ),
});

const template = createRoute({
  getParentRoute: () => shell,
  path: "/chat/templates/$id",
  staticData: { title: "Template", permission: see_chat },
  params: idParam,
  component: lazyRouteComponent(
    () => import("./pages/templates/template-page.tsx"),
    "TemplatePage",
  ),
});

const replies = createRoute({
  getParentRoute: () => shell,
  path: "/chat/replies",
  staticData: { title: "Replies", permission: "chat.read" },
  validateSearch: readRepliesSearch,
  component: lazyRouteComponent(() => import("./pages/replies/replies-page.tsx"), "RepliesPage"),
});

const conversation = createRoute({
  getParentRoute: () => shell,
  path: "/chat/replies/$person",
  staticData: { title: "Conversation", permission: "chat.read" },
  component: lazyRouteComponent(
    () => import("./pages/replies/conversation-page.tsx"),
    "ConversationPage",
  ),
});

const see_voice_campaigns = ["voice.campaigns.read", "voice.campaigns.manage"] as const;

const voiceCampaigns = createRoute({
  getParentRoute: () => shell,
  path: "/voice/campaigns",
  staticData: { title: "Voice campaigns", permission: see_voice_campaigns },
  validateSearch: readVoiceCampaignsSearch,
  component: lazyRouteComponent(
    () => import("./pages/voice/voice-campaigns-page.tsx"),
    "VoiceCampaignsPage",
  ),
});

const newVoiceCampaign = createRoute({
  getParentRoute: () => shell,
  path: "/voice/campaigns/new",
  staticData: { title: "New voice campaign", permission: "voice.campaigns.create" },
  validateSearch: readVoiceComposerSearch,
  remountDeps: ({ search: { to } }) => to,
  component: lazyRouteComponent(
    () => import("./pages/voice/composer/voice-composer-page.tsx"),
    "VoiceComposerPage",
  ),
});

const voiceCampaign = createRoute({
  getParentRoute: () => shell,
  path: "/voice/campaigns/$id",
  staticData: { title: "Voice campaign", permission: see_voice_campaigns },
  params: idParam,
  validateSearch: readVoiceRecipientSearch,
  component: lazyRouteComponent(
    () => import("./pages/voice/voice-campaign-page.tsx"),
    "VoiceCampaignPage",
  ),
});

const see_content = ["voice.content.read", "voice.content.manage"] as const;

const voiceFiles = createRoute({
  getParentRoute: () => shell,
  path: "/voice/files",
  staticData: { title: "Audio & scripts", permission: see_content },
  component: lazyRouteComponent(() => import("./pages/voice/content/files-page.tsx"), "FilesPage"),
});

const newVoiceFile = createRoute({
  getParentRoute: () => shell,
  path: "/voice/files/new",
  staticData: { title: "New content", permission: "voice.content.manage" },
  component: lazyRouteComponent(
    () => import("./pages/voice/content/new-file-page.tsx"),
    "NewFilePage",
  ),
});

const voiceFile = createRoute({
  getParentRoute: () => shell,
  path: "/voice/files/$id",
  staticData: { title: "Content", permission: see_content },
  params: idParam,
  component: lazyRouteComponent(() => import("./pages/voice/content/file-page.tsx"), "FilePage"),
});

const menus = createRoute({
  getParentRoute: () => shell,
  path: "/voice/menus",
  staticData: { title: "Menus", permission: see_content },
  component: lazyRouteComponent(() => import("./pages/voice/menus/menus-page.tsx"), "MenusPage"),
});

const newMenu = createRoute({
  getParentRoute: () => shell,
  path: "/voice/menus/new",
  staticData: { title: "New menu", permission: "voice.content.manage" },
  component: lazyRouteComponent(
    () => import("./pages/voice/menus/new-menu-page.tsx"),
    "NewMenuPage",
  ),
});

const menu = createRoute({
  getParentRoute: () => shell,
  path: "/voice/menus/$id",
  staticData: { title: "Menu", permission: see_content },
  params: idParam,
  component: lazyRouteComponent(() => import("./pages/voice/menus/menu-page.tsx"), "MenuPage"),
});

const agents = createRoute({
  getParentRoute: () => shell,
  path: "/voice/agents",
  staticData: { title: "AI agents", permission: see_content },
  component: lazyRouteComponent(() => import("./pages/voice/agents/agents-page.tsx"), "AgentsPage"),
});

const newAgent = createRoute({
  getParentRoute: () => shell,
  path: "/voice/agents/new",
  staticData: { title: "New AI agent", permission: "voice.content.manage" },
  component: lazyRouteComponent(
    () => import("./pages/voice/agents/new-agent-page.tsx"),
    "NewAgentPage",
  ),
});

const agent = createRoute({
  getParentRoute: () => shell,
  path: "/voice/agents/$id",
  staticData: { title: "AI agent", permission: see_content },
  params: idParam,
  component: lazyRouteComponent(() => import("./pages/voice/agents/agent-page.tsx"), "AgentPage"),
});

const agentGroups = createRoute({
  getParentRoute: () => shell,
  path: "/agents",
  staticData: { title: "Agents", permission: ["agents.read", "agents.manage"] },
  component: lazyRouteComponent(() => import("./pages/agents/agents-page.tsx"), "AgentGroupsPage"),
});

const see_telephony = ["agents.read", "agents.manage"] as const;

const telephony = createRoute({
  getParentRoute: () => shell,
  path: "/telephony",
  staticData: { title: "Telephony", permission: see_telephony },
  component: lazyRouteComponent(
    () => import("./pages/telephony/telephony-page.tsx"),
    "TelephonyPage",
  ),
});

const installation = createRoute({
  getParentRoute: () => shell,
  path: "/installation",
  staticData: { title: "Installation", permission: "installation.manage" },
  component: lazyRouteComponent(
    () => import("./pages/telephony/installation-page.tsx"),
    "InstallationPage",
  ),
});

const see_calls = ["calls.read", "calls.manage"] as const;

const calls = createRoute({
  getParentRoute: () => shell,
  path: "/calls",
  staticData: { title: "Calls", permission: see_calls },
  validateSearch: readCallsSearch,
  component: lazyRouteComponent(() => import("./pages/calls/calls-page.tsx"), "CallsPage"),
});

const dialer = createRoute({
  getParentRoute: () => shell,
  path: "/calls/new",
  staticData: { title: "Dialer", permission: see_calls },
  validateSearch: readDialerSearch,
  component: lazyRouteComponent(() => import("./pages/calls/dialer-page.tsx"), "DialerPage"),
});

const call = createRoute({
  getParentRoute: () => shell,
  path: "/calls/$id",
  staticData: { title: "Call", permission: see_calls },
  params: idParam,
  component: lazyRouteComponent(() => import("./pages/calls/call-page.tsx"), "CallPage"),
});

const tokens = createRoute({
  getParentRoute: () => shell,
  path: "/developers/tokens",
  staticData: { title: "API tokens", permission: "tokens.manage" },
  component: lazyRouteComponent(() => import("./pages/developers/tokens-page.tsx"), "TokensPage"),
});

const see_callbacks = ["callbacks.read", "callbacks.manage"] as const;

const callbacks = createRoute({
  getParentRoute: () => shell,
  path: "/developers/callbacks",
  staticData: { title: "Callbacks", permission: see_callbacks },
  component: lazyRouteComponent(
    () => import("./pages/developers/callbacks-page.tsx"),
    "CallbacksPage",
  ),
});

const endpoint = createRoute({
  getParentRoute: () => shell,
  path: "/developers/callbacks/$id",
  staticData: { title: "Callback endpoint", permission: see_callbacks },
  params: idParam,
  validateSearch: readDeliverySearch,
  component: lazyRouteComponent(
    () => import("./pages/developers/endpoint-page.tsx"),
    "EndpointPage",
  ),
});

const events = createRoute({
  getParentRoute: () => shell,
  path: "/developers/events",
  staticData: { title: "Events", permission: see_callbacks },
  component: lazyRouteComponent(() => import("./pages/developers/events-page.tsx"), "EventsPage"),
});

const reports = createRoute({
  getParentRoute: () => shell,
  path: "/reports",
  staticData: { title: "Reports", permission: "reports.read" },
  validateSearch: readReportsSearch,
  component: lazyRouteComponent(() => import("./pages/reports/reports-page.tsx"), "ReportsPage"),
});

const groups = createRoute({
  getParentRoute: () => shell,
  path: "/groups",
  staticData: { title: "Groups", permission: ["groups.read", "groups.manage"] },
  component: lazyRouteComponent(() => import("./pages/groups/groups-page.tsx"), "GroupsPage"),
});

const group = createRoute({
  getParentRoute: () => shell,
  path: "/groups/$id",
  staticData: { title: "Group", permission: ["groups.read", "groups.manage"] },
  params: idParam,
  validateSearch: readPhoneSearch,
  component: lazyRouteComponent(() => import("./pages/groups/group-page.tsx"), "GroupPage"),
});

const suppressions = createRoute({
  getParentRoute: () => shell,
  path: "/suppressions",
  staticData: { title: "Suppressions", permission: ["suppressions.read", "suppressions.manage"] },
  validateSearch: readSuppressionsSearch,
  component: lazyRouteComponent(
    () => import("./pages/suppressions/suppressions-page.tsx"),
    "SuppressionsPage",
  ),
});

const leadFields = createRoute({
  getParentRoute: () => shell,
  path: "/settings/lead-fields",
  staticData: { title: "Lead fields", permission: "crm.manage" },
  validateSearch: readLeadSearch,
  component: lazyRouteComponent(
    () => import("./pages/settings/lead-fields-page.tsx"),
    "LeadFieldsPage",
  ),
});

const account = createRoute({
  getParentRoute: () => shell,
  path: "/settings/account",
  staticData: { title: "Account", permission: ["account.read", "account.manage"] },
  component: lazyRouteComponent(() => import("./pages/settings/account-page.tsx"), "AccountPage"),
});

const credits = createRoute({
  getParentRoute: () => shell,
  path: "/settings/credits",
  staticData: { title: "Credits", permission: "credits.read" },
  validateSearch: readLedgerSearch,
  component: lazyRouteComponent(() => import("./pages/settings/credits-page.tsx"), "CreditsPage"),
});

const audit = createRoute({
  getParentRoute: () => shell,
  path: "/settings/audit",
  staticData: { title: "Audit trail", permission: "audit.read" },
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("./pages/settings/audit-page.tsx"), "AuditPage"),
});

const users = createRoute({
  getParentRoute: () => shell,
  path: "/settings/users",
  staticData: { title: "Users", permission: ["users.read", "users.manage"] },
  component: lazyRouteComponent(() => import("./pages/settings/users-page.tsx"), "UsersPage"),
});

const workspaces = createRoute({
  getParentRoute: () => shell,
  path: "/settings/workspaces",
  staticData: { title: "Workspaces", permission: "crm.manage" },
  component: lazyRouteComponent(
    () => import("./pages/settings/workspaces-page.tsx"),
    "WorkspacesPage",
  ),
});

const erasures = createRoute({
  getParentRoute: () => shell,
  path: "/settings/erasures",
  staticData: { title: "Erasures", permission: "people.erase" },
  component: lazyRouteComponent(() => import("./pages/settings/erasures-page.tsx"), "ErasuresPage"),
});

const profile = createRoute({
  getParentRoute: () => shell,
  path: "/settings/profile",
  staticData: { title: "Your profile" },
  component: lazyRouteComponent(() => import("./pages/settings/profile-page.tsx"), "ProfilePage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    forgot,
    reset,
    oidc,
    invitation,
    shell.addChildren([
      home,
      leads,
      importLeads,
      lead,
      contacts,
      person,
      chatCampaigns,
      newChatCampaign,
      chatCampaign,
      chatNumbers,
      chatFlows,
      templates,
      newTemplate,
      template,
      replies,
      conversation,
      voiceCampaigns,
      newVoiceCampaign,
      voiceCampaign,
      voiceFiles,
      newVoiceFile,
      voiceFile,
      menus,
      newMenu,
      menu,
      agents,
      newAgent,
      agent,
      agentGroups,
      telephony,
      installation,
      calls,
      dialer,
      call,
      groups,
      group,
      suppressions,
      reports,
      tokens,
      callbacks,
      endpoint,
      events,
      account,
      leadFields,
      users,
      credits,
      audit,
      workspaces,
      erasures,
      profile,
    ]),
  ]),
  pathParamsAllowedCharacters: ["+"],
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultErrorComponent: ErrorPage,
  scrollRestoration: true,
});
