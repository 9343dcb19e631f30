/**
 * The product areas that an account may have; each write of the contract belongs to one. `operator`
 * is for those who run the installation: its nodes and trunks serve every account.
 */
export const features = ["crm", "bulk_chat", "voice", "calls", "operator"] as const;
export type Feature = (typeof features)[number];

/** The permissions that a role grants and a token's scopes narrow. */
export const permissions = {
  "crm.leads.create": "Create leads",
  "crm.read": "See workspaces, contacts and leads",
  "crm.write": "Change leads and contacts",
  "crm.import": "Import leads from CSV",
  "crm.export": "Export leads to CSV",
  "crm.manage": "Manage workspaces, picklists and custom fields",
  "chat.campaigns.create": "Create chat campaigns",
  "chat.campaigns.manage": "Pause, resume, retry and cancel chat campaigns",
  "chat.read": "See chat campaigns, numbers, templates, flows and holds",
  "chat.export": "Export the recipients of chat campaigns to CSV",
  "chat.manage": "Manage chat numbers, templates, flows and holds",
  "voice.campaigns.create": "Create voice campaigns",
  "voice.content.read": "See voice files, menus and AI agents",
  "voice.content.manage": "Manage voice files, menus and AI agents",
  "voice.campaigns.read": "See voice campaigns and their recipients",
  "voice.campaigns.export": "Export the recipients of voice campaigns to CSV",
  "voice.campaigns.manage": "Pause, resume, retry and cancel voice campaigns",
  "calls.read": "See calls and their recordings",
  "calls.export": "Export calls to CSV",
  "calls.manage": "Hang up, transfer and retry calls",
  "agents.read": "See extensions and agent groups",
  "agents.manage": "Manage extensions and agent groups",
  "suppressions.read": "See the suppression list",
  "suppressions.manage": "Suppress numbers and end suppressions",
  "groups.read": "See groups and their members",
  "groups.manage": "Manage groups and their members",
  "callbacks.read": "See callback endpoints, and their deliveries with all data in them",
  "callbacks.manage":
    "Manage callback endpoints and their secrets, replay events, and see deliveries with all data in them",
  "reports.read": "See reports",
  "reports.export": "Export reports to CSV",
  "people.erase": "Erase a person's data",
  "account.read": "See the account and its settings",
  "account.manage": "Change the account's settings",
  "users.read": "See users and roles",
  "users.manage": "Manage users and roles",
  "tokens.manage": "Create, rotate and revoke tokens",
  "credits.read": "See credit and the ledger",
  "audit.read": "Read the audit trail",
  "installation.manage": "Manage the installation's voice nodes and trunks",
} as const;
export type Permission = keyof typeof permissions;
export const permissionNames = Object.keys(permissions) as Permission[];
