import {
  AudioLines,
  Ban,
  Bot,
  Boxes,
  ChartColumn,
  Coins,
  Contact,
  Eraser,
  Headset,
  KeyRound,
  LayoutDashboard,
  LayoutTemplate,
  ListChecks,
  MessageSquarePlus,
  MessagesSquare,
  Phone,
  PhoneCall,
  PhoneOutgoing,
  Radio,
  ScrollText,
  Send,
  Server,
  Settings,
  Smartphone,
  UserCog,
  Users,
  UsersRound,
  Webhook,
  Workflow,
} from "lucide-react";
import type { Permission } from "../../server/accounts/permissions.ts";
import { maySee } from "../ui/permission.ts";

/** Any of these shows a part of the overview. */
export const see_overview = [
  "chat.read",
  "chat.campaigns.manage",
  "calls.read",
  "calls.manage",
  "voice.campaigns.read",
  "voice.campaigns.manage",
  "credits.read",
  "callbacks.read",
  "callbacks.manage",
] as const;

/** The main navigation: each area with the permission without which it is not shown. */
export const navigation = [
  {
    label: "Today",
    links: [{ to: "/", label: "Overview", icon: LayoutDashboard, permission: see_overview }],
  },
  {
    label: "CRM",
    links: [
      { to: "/leads", label: "Leads", icon: Users, permission: "crm.read" },
      { to: "/contacts", label: "Contacts", icon: Contact, permission: "crm.read" },
    ],
  },
  {
    label: "WhatsApp",
    links: [
      {
        to: "/chat/campaigns",
        label: "Campaigns",
        icon: Send,
        permission: ["chat.read", "chat.campaigns.manage"],
      },
      { to: "/chat/replies", label: "Replies", icon: MessagesSquare, permission: "chat.read" },
      {
        to: "/chat/templates",
        label: "Templates",
        icon: LayoutTemplate,
        permission: ["chat.read", "chat.campaigns.create", "chat.manage"],
      },
      {
        to: "/chat/flows",
        label: "Chat flows",
        icon: MessageSquarePlus,
        permission: ["chat.read", "chat.campaigns.create", "chat.manage"],
      },
      {
        to: "/chat/numbers",
        label: "Chat numbers",
        icon: Smartphone,
        permission: ["chat.read", "chat.campaigns.create", "chat.manage"],
      },
    ],
  },
  {
    label: "Voice",
    links: [
      { to: "/calls", label: "Calls", icon: Phone, permission: ["calls.read", "calls.manage"] },
      {
        to: "/voice/campaigns",
        label: "Voice campaigns",
        icon: PhoneOutgoing,
        permission: ["voice.campaigns.read", "voice.campaigns.manage"],
      },
      {
        to: "/voice/files",
        label: "Audio & scripts",
        icon: AudioLines,
        permission: ["voice.content.read", "voice.content.manage"],
      },
      {
        to: "/voice/menus",
        label: "Menus",
        icon: Workflow,
        permission: ["voice.content.read", "voice.content.manage"],
      },
      {
        to: "/voice/agents",
        label: "AI agents",
        icon: Bot,
        permission: ["voice.content.read", "voice.content.manage"],
      },
      {
        to: "/agents",
        label: "Agents",
        icon: Headset,
        permission: ["agents.read", "agents.manage"],
      },
      {
        to: "/telephony",
        label: "Telephony",
        icon: PhoneCall,
        permission: ["agents.read", "agents.manage"],
      },
    ],
  },
  {
    label: "Audience",
    links: [
      {
        to: "/groups",
        label: "Groups",
        icon: UsersRound,
        permission: ["groups.read", "groups.manage"],
      },
      {
        to: "/suppressions",
        label: "Suppressions",
        icon: Ban,
        permission: ["suppressions.read", "suppressions.manage"],
      },
    ],
  },
  {
    label: "Analysis",
    links: [{ to: "/reports", label: "Reports", icon: ChartColumn, permission: "reports.read" }],
  },
  {
    label: "Developers",
    links: [
      {
        to: "/developers/tokens",
        label: "API tokens",
        icon: KeyRound,
        permission: "tokens.manage",
      },
      {
        to: "/developers/callbacks",
        label: "Callbacks",
        icon: Webhook,
        permission: ["callbacks.read", "callbacks.manage"],
      },
      {
        to: "/developers/events",
        label: "Events",
        icon: Radio,
        permission: ["callbacks.read", "callbacks.manage"],
      },
    ],
  },
  {
    label: "Settings",
    links: [
      {
        to: "/settings/account",
        label: "Account",
        icon: Settings,
        permission: ["account.read", "account.manage"],
      },
      {
        to: "/settings/lead-fields",
        label: "Lead fields",
        icon: ListChecks,
        permission: "crm.manage",
      },
      {
        to: "/settings/workspaces",
        label: "Workspaces",
        icon: Boxes,
        permission: "crm.manage",
      },
      {
        to: "/settings/users",
        label: "Users",
        icon: UserCog,
        permission: ["users.read", "users.manage"],
      },
      { to: "/settings/credits", label: "Credits", icon: Coins, permission: "credits.read" },
      { to: "/settings/audit", label: "Audit trail", icon: ScrollText, permission: "audit.read" },
      {
        to: "/settings/erasures",
        label: "Erasures",
        icon: Eraser,
        permission: "people.erase",
      },
    ],
  },
  {
    label: "Operator",
    links: [
      {
        to: "/installation",
        label: "Installation",
        icon: Server,
        permission: "installation.manage",
      },
    ],
  },
] as const satisfies readonly {
  readonly label: string;
  readonly links: readonly {
    readonly to: string;
    readonly label: string;
    readonly icon: typeof Users;
    readonly permission: Permission | readonly Permission[];
  }[];
}[];
type NavigationLink = (typeof navigation)[number]["links"][number];

/** Returns the first page that these permissions cover; without any, one's own settings. */
export function firstPage(
  permissions: readonly string[],
): NavigationLink["to"] | "/settings/profile" {
  const links = navigation.flatMap<NavigationLink>((area) => area.links);
  const covered = ({ permission }: NavigationLink) => maySee(permissions, permission);
  return links.find(covered)?.to ?? "/settings/profile";
}
