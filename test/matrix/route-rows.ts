// One row per route: a valid request for given IDs, and the permissions that it requires. The tenant
// matrix, the fuzz test and the OpenAPI validation use these rows.
import type { Feature, Permission } from "../../server/accounts/permissions.ts";
import { unique } from "../support/account-factory.ts";
import { callbackRows } from "./callback-rows.ts";
import { telephonyRows } from "./telephony-rows.ts";
import { callRows } from "./call-rows.ts";
import { chatRows } from "./chat-rows.ts";
import { erasureRows } from "./erasure-rows.ts";
import { unknownIds, type Ids } from "./seed-ids.ts";
import { reportRows } from "./report-rows.ts";
import { voiceCampaignRows } from "./voice-campaign-rows.ts";
import { voiceContentRows } from "./voice-content-rows.ts";
import { voiceLaunchRows } from "./voice-launch-rows.ts";

export type RowRequest = {
  readonly path: string;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
};

export type RouteRow = {
  readonly features: readonly Feature[] | null;
  /** Any one of these suffices. */
  readonly may: readonly Permission[] | "any_token";
  /** Errors have the form of click-to-call, not problem details. */
  readonly own_errors?: true;
  /** The error of an agent without the permission, unless `forbidden`. */
  readonly agent_denied?: "permission-denied";
  /** A WebSocket: a request with access and without a handshake is 400. */
  readonly socket?: true;
  /** The resource belongs to the installation, so every operator sees the same. */
  readonly installation?: true;
  /** Creates a new request at each call, because names are unique. */
  readonly request: (ids: Ids) => RowRequest;
};

const account = "/api/v1";
const crm = "/api/v1/crm/workspaces";

const free = (may: readonly Permission[], request: RouteRow["request"]): RouteRow => ({
  features: null,
  may,
  request,
});
const ofCrm = (may: readonly Permission[], request: RouteRow["request"]): RouteRow => ({
  features: ["crm"],
  may,
  request,
});

const look_up: readonly Permission[] = ["crm.read", "crm.leads.create", "crm.manage"];
const see_users: readonly Permission[] = ["users.read", "users.manage"];

const accounts: Record<string, RouteRow> = {
  readAccount: free(["account.read", "account.manage"], () => ({ path: `${account}/account` })),
  updateAccount: free(["account.manage"], ({ chat_number_id, template_id }) => ({
    path: `${account}/account`,
    json: {
      name: unique("renamed"),
      country_code: "91",
      time_zone: "Asia/Kolkata",
      calls: { recorded: true, notice: { chat_number_id, template_id } },
    },
  })),
  listAudit: free(["audit.read"], (ids) => ({
    path: `${account}/audit?limit=200&user_id=${ids.user_id}&from=2020-01-01T00:00:00Z`,
  })),
  streamEvents: free(
    [
      "crm.read",
      "chat.read",
      "chat.campaigns.manage",
      "chat.campaigns.create",
      "chat.manage",
      "voice.campaigns.read",
      "voice.campaigns.manage",
      "calls.read",
      "calls.manage",
      "credits.read",
      "callbacks.read",
      "callbacks.manage",
    ],
    () => ({ path: `${account}/events` }),
  ),
  readCredits: free(["credits.read"], () => ({ path: `${account}/credits` })),
  listCreditLedger: free(["credits.read"], (ids) => ({
    path: `${account}/credits/ledger?limit=200&kind=chat&reservation_id=${ids.reservation_id}`,
  })),
  listPermissions: free(["users.read", "users.manage", "tokens.manage"], () => ({
    path: `${account}/permissions`,
  })),
  listRoles: free(see_users, () => ({ path: `${account}/roles?limit=2` })),
  createRole: free(["users.manage"], () => ({
    path: `${account}/roles`,
    json: { name: unique("role"), permissions: [] },
  })),
  readRole: free(see_users, (ids) => ({ path: `${account}/roles/${ids.role_id}` })),
  updateRole: free(["users.manage"], (ids) => ({
    path: `${account}/roles/${ids.role_id}`,
    json: { name: unique("role"), permissions: [] },
  })),
  deleteRole: free(["users.manage"], (ids) => ({ path: `${account}/roles/${ids.role_id}` })),
  listUsers: free(see_users, () => ({ path: `${account}/users?limit=2` })),
  createUser: free(["users.manage"], (ids) => ({
    path: `${account}/users`,
    json: {
      name: "New",
      email: `${unique("new")}@test.example`,
      phone: "9876543210",
      extension: "1234",
      role_id: ids.role_id,
      active: true,
    },
  })),
  readUser: free(see_users, (ids) => ({ path: `${account}/users/${ids.user_id}` })),
  updateUser: free(["users.manage"], (ids) => ({
    path: `${account}/users/${ids.user_id}`,
    json: { name: "Changed", phone: null, role_id: ids.role_id },
  })),
  createSignInLink: free(["users.manage"], (ids) => ({
    path: `${account}/users/${ids.user_id}/sign-in-link`,
  })),
  deleteUserTotp: free(["users.manage"], (ids) => ({
    path: `${account}/users/${ids.user_id}/totp`,
  })),
  deleteUserPasskeys: free(["users.manage"], (ids) => ({
    path: `${account}/users/${ids.user_id}/passkeys`,
  })),
  listInvitations: free(see_users, () => ({ path: `${account}/invitations?limit=2` })),
  createInvitation: free(["users.manage"], (ids) => ({
    path: `${account}/invitations`,
    json: { email: `${unique("guest")}@test.example`, role_id: ids.role_id },
  })),
  revokeInvitation: free(["users.manage"], (ids) => ({
    path: `${account}/invitations/${ids.invitation_id}`,
  })),
  readMe: { features: null, may: "any_token", request: () => ({ path: `${account}/me` }) },
  listTokens: free(["tokens.manage"], () => ({ path: `${account}/tokens?limit=2` })),
  createToken: free(["tokens.manage"], (ids) => ({
    path: `${account}/tokens`,
    json: {
      kind: "agent",
      name: unique("token"),
      user_id: ids.user_id,
      scopes: [],
      expires_at: "2099-01-01T00:00:00Z",
    },
  })),
  readToken: free(["tokens.manage"], (ids) => ({ path: `${account}/tokens/${ids.token_id}` })),
  revokeToken: free(["tokens.manage"], (ids) => ({
    path: `${account}/tokens/${ids.token_id}/revoke`,
  })),
  rotateToken: free(["tokens.manage"], (ids) => ({
    path: `${account}/tokens/${ids.token_id}/rotate`,
    json: { overlap_seconds: 60 },
  })),
};

const workspaces: Record<string, RouteRow> = {
  listWorkspaces: ofCrm(look_up, () => ({ path: `${crm}?limit=2` })),
  createWorkspace: ofCrm(["crm.manage"], () => ({
    path: crm,
    json: { name: unique("workspace"), active: true },
  })),
  readWorkspace: ofCrm(look_up, (ids) => ({ path: `${crm}/${ids.workspace_id}` })),
  updateWorkspace: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}`,
    json: { name: unique("renamed") },
  })),
  listAgents: ofCrm(look_up, (ids) => ({
    path: `${crm}/${ids.workspace_id}/agents?limit=2&active=true`,
  })),
  listPicklists: ofCrm(look_up, (ids) => ({
    path: `${crm}/${ids.workspace_id}/picklists?includeArchived=true`,
  })),
  createPicklistOption: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/picklists/status/options`,
    json: { label: unique("Option"), color: "#00ff00", isDefault: false, position: 3 },
  })),
  updatePicklistOption: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/picklists/status/options/${ids.option_id}`,
    json: { label: unique("Option"), color: null, archived: true },
  })),
  deletePicklistOption: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/picklists/status/options/${ids.option_id}`,
  })),
  listCustomFields: ofCrm(look_up, (ids) => ({
    path: `${crm}/${ids.workspace_id}/custom-fields`,
  })),
  createCustomField: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/custom-fields`,
    json: {
      key: unique("field").replaceAll("-", "_"),
      label: "Field",
      type: "select",
      options: ["a", "b"],
      required: false,
    },
  })),
  updateCustomField: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/custom-fields/${ids.field_id}`,
    json: { label: "Changed", position: 1 },
  })),
  deleteCustomField: ofCrm(["crm.manage"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/custom-fields/${ids.field_id}`,
  })),
};

const contacts: Record<string, RouteRow> = {
  listContacts: ofCrm(["crm.read"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/contacts?limit=2&q=a`,
  })),
  readContact: ofCrm(["crm.read"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/contacts/${ids.contact_id}`,
  })),
  updateContact: ofCrm(["crm.write"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/contacts/${ids.contact_id}`,
    json: { name: "Changed", email: "changed@test.example" },
  })),
  listContactLeads: ofCrm(["crm.read"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/contacts/${ids.contact_id}/leads?limit=2`,
  })),
};

const leadOf = (ids: Ids) => `${crm}/${ids.workspace_id}/leads/${ids.lead_id}`;

const leads: Record<string, RouteRow> = {
  createLead: ofCrm(["crm.leads.create"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/leads/create`,
    json: {
      phone: "9876543210",
      name: "New",
      email: "new@test.example",
      assignedAgentId: ids.user_id,
      contactId: ids.contact_id,
      statusId: ids.option_id,
      customFields: { note: "text" },
    },
  })),
  listLeads: ofCrm(["crm.read"], (ids) => ({
    path:
      `${crm}/${ids.workspace_id}/leads?limit=2&statusId=${ids.option_id}` +
      `&assignedAgentId=${ids.user_id}&createdFrom=2020-01-01T00:00:00Z`,
  })),
  readLead: ofCrm(["crm.read"], (ids) => ({ path: leadOf(ids) })),
  updateLead: ofCrm(["crm.write"], (ids) => ({
    path: leadOf(ids),
    json: {
      name: "Changed",
      email: null,
      assignedAgentId: ids.user_id,
      statusId: ids.option_id,
      customFields: { note: "changed" },
    },
  })),
  updateLeads: ofCrm(["crm.write"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/leads`,
    json: {
      ids: [ids.lead_id],
      assignedAgentId: ids.user_id,
      statusId: ids.option_id,
      removeCollaborators: [ids.collaborator_id],
    },
  })),
  exportLeads: ofCrm(["crm.export"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/leads/export?contactId=${ids.contact_id}`,
  })),
  listLeadTimeline: ofCrm(["crm.read"], (ids) => ({ path: `${leadOf(ids)}/timeline?limit=2` })),
  addLeadNote: ofCrm(["crm.write"], (ids) => ({
    path: `${leadOf(ids)}/notes`,
    json: { text: "A note" },
  })),
  listLeadCollaborators: ofCrm(["crm.read"], (ids) => ({ path: `${leadOf(ids)}/collaborators` })),
  addLeadCollaborator: ofCrm(["crm.write"], (ids) => ({
    path: `${leadOf(ids)}/collaborators/${ids.user_id}`,
  })),
  removeLeadCollaborator: ofCrm(["crm.write"], (ids) => ({
    path: `${leadOf(ids)}/collaborators/${ids.collaborator_id}`,
  })),
};

const importOf = (ids: Ids) => `${crm}/${ids.workspace_id}/leads/imports/${ids.import_id}`;

const imports: Record<string, RouteRow> = {
  importLeads: ofCrm(["crm.import"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/leads/import`,
    form: uploadOf("Phone,Name\n9876543210,Ann\n12,Bob\n", { phone: "Phone", name: "Name" }),
  })),
  previewLeadImport: ofCrm(["crm.import"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/leads/import/preview`,
    form: uploadOf("Phone,Name\n9876543210,Ann\n12,Bob\n", { phone: "Phone", name: "Name" }),
  })),
  listLeadImports: ofCrm(["crm.import"], (ids) => ({
    path: `${crm}/${ids.workspace_id}/leads/imports?limit=2`,
  })),
  readLeadImport: ofCrm(["crm.import"], (ids) => ({ path: importOf(ids) })),
  listLeadRejects: ofCrm(["crm.import"], (ids) => ({ path: `${importOf(ids)}/rejects?limit=2` })),
};

const savedViews: Record<string, RouteRow> = {
  listSavedViews: {
    ...free([], () => ({ path: `${account}/saved-views?limit=2&page=leads` })),
    may: "any_token",
  },
  createSavedView: {
    ...free([], () => ({
      path: `${account}/saved-views`,
      json: {
        page: "leads",
        name: unique("view"),
        search: { q: "a" },
        columns: ["name"],
        shared: false,
      },
    })),
    may: "any_token",
  },
  updateSavedView: {
    ...free([], (ids) => ({
      path: `${account}/saved-views/${ids.saved_view_id}`,
      json: { name: unique("view"), search: {}, columns: ["phone"], shared: true },
    })),
    may: "any_token",
  },
  deleteSavedView: {
    ...free([], (ids) => ({ path: `${account}/saved-views/${ids.saved_view_id}` })),
    may: "any_token",
  },
};

const see_people: readonly Permission[] = [
  "crm.read",
  "chat.read",
  "calls.read",
  "calls.manage",
  "suppressions.read",
  "suppressions.manage",
  "groups.read",
  "groups.manage",
];

const people: Record<string, RouteRow> = {
  listPeople: free(see_people, () => ({ path: `${account}/people?q=98765` })),
  listPersonTimeline: free(see_people, () => ({
    path: `${account}/people/timeline?limit=2&phone_number=9876543210`,
  })),
};

const see_groups: readonly Permission[] = ["groups.read", "groups.manage"];
const groupOf = (ids: Ids) => `${account}/groups/${ids.group_id}`;

const audience: Record<string, RouteRow> = {
  listSuppressions: free(["suppressions.read", "suppressions.manage"], () => ({
    path: `${account}/suppressions?limit=2&phone_number=9876543210&channel=chat&source=manual&active=true`,
  })),
  addSuppression: free(["suppressions.manage"], () => ({
    path: `${account}/suppressions`,
    json: {
      phone_number: "+91 98765 43210",
      channel: "voice",
      reason: "asked by phone",
      expires_at: "2099-01-01T00:00:00Z",
    },
  })),
  importSuppressions: free(["suppressions.manage"], () => ({
    path: `${account}/suppressions/import`,
    form: formOf("Phone\n9876543210\n12\n", {
      phone_number_column: "Phone",
      channel: "chat",
      reason: "list",
      expires_at: "2099-01-01T00:00:00Z",
    }),
  })),
  removeSuppression: free(["suppressions.manage"], (ids) => ({
    path: `${account}/suppressions/${ids.suppression_id}`,
  })),
  listGroups: free(see_groups, () => ({ path: `${account}/groups?limit=2` })),
  createGroup: free(["groups.manage"], () => ({
    path: `${account}/groups`,
    json: { name: unique("group") },
  })),
  readGroup: free(see_groups, (ids) => ({ path: groupOf(ids) })),
  updateGroup: free(["groups.manage"], (ids) => ({
    path: groupOf(ids),
    json: { name: unique("group") },
  })),
  deleteGroup: free(["groups.manage"], (ids) => ({ path: groupOf(ids) })),
  listGroupMembers: free(see_groups, (ids) => ({
    path: `${groupOf(ids)}/members?limit=2&phone_number=9876543210`,
  })),
  addGroupMembers: free(["groups.manage"], (ids) => ({
    path: `${groupOf(ids)}/members`,
    json: {
      members: [{ phone_number: "9876543210", name: "Ada", variables: { "1": "Ada" } }],
    },
  })),
  importGroupMembers: free(["groups.manage"], (ids) => ({
    path: `${groupOf(ids)}/members/import`,
    form: formOf("Phone,Name,1\n9876543210,Ada,Ada\n12,Bob,Bob\n", {
      phone_number_column: "Phone",
      name_column: "Name",
    }),
  })),
  removeGroupMember: free(["groups.manage"], (ids) => ({
    path: `${groupOf(ids)}/members/${ids.member_id}`,
  })),
};

function uploadOf(csv: string, columnMap: Record<string, string>): FormData {
  return formOf(csv, { columnMap: JSON.stringify(columnMap) });
}

function formOf(csv: string, fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", new Blob([csv], { type: "text/csv" }), "rows.csv");
  return form;
}

const create_campaigns: readonly Permission[] = ["chat.campaigns.create"];

const ofChat = (may: readonly Permission[], request: RouteRow["request"]): RouteRow => ({
  features: ["bulk_chat"],
  may,
  request,
});

const underKey = (): RowRequest["headers"] => ({ "idempotency-key": unique("key") });

const campaignOf = (ids: Ids) => ({
  name: unique("campaign"),
  chat_number_id: ids.chat_number_id,
  template_id: ids.template_id,
  contacts: [{ phone_number: "919812345678", variables: { "1": "Ann" } }],
});

const see_campaigns: readonly Permission[] = ["chat.read", "chat.campaigns.manage"];
const manage_campaigns: readonly Permission[] = ["chat.campaigns.manage"];
const placeOf = (ids: Ids) => `${account}/chat/campaigns/${ids.campaign_id}`;

const campaigns: Record<string, RouteRow> = {
  listChatCampaigns: ofChat(see_campaigns, (ids) => ({
    path:
      `${account}/chat/campaigns?limit=2&status=running&chat_number_id=${ids.chat_number_id}` +
      `&template_id=${ids.template_id}&q=campaign&from=2020-01-01T00:00:00Z`,
  })),
  readChatCampaign: ofChat(see_campaigns, (ids) => ({ path: placeOf(ids) })),
  readChatCampaignFailures: ofChat(see_campaigns, (ids) => ({ path: `${placeOf(ids)}/failures` })),
  readChatCampaignPace: ofChat(see_campaigns, (ids) => ({
    path: `${placeOf(ids)}/pace?minutes=5`,
  })),
  pauseChatCampaign: ofChat(manage_campaigns, (ids) => ({ path: `${placeOf(ids)}/pause` })),
  resumeChatCampaign: ofChat(manage_campaigns, (ids) => ({ path: `${placeOf(ids)}/resume` })),
  cancelChatCampaign: ofChat(manage_campaigns, (ids) => ({ path: `${placeOf(ids)}/cancel` })),
  retryChatCampaign: ofChat(manage_campaigns, (ids) => ({
    path: `${placeOf(ids)}/retry`,
    json: { errors: ["undeliverable"] },
    headers: underKey()!,
  })),
  listChatRecipients: ofChat(see_campaigns, (ids) => ({
    path: `${placeOf(ids)}/recipients?limit=2&state=unknown&phone_number=919876543210`,
  })),
  exportChatRecipients: ofChat(["chat.export"], (ids) => ({
    path: `${placeOf(ids)}/recipients/export?state=unknown`,
  })),
  listChatReplies: ofChat(["chat.read"], (ids) => ({
    path:
      `${account}/chat/replies?limit=2&campaign_id=${ids.campaign_id}` +
      `&phone_number=919876543210&opted_out=false`,
  })),
  sendChatAnswer: ofChat(create_campaigns, (ids) => ({
    path: `${account}/chat/replies/${ids.reply_id}/answers`,
    json: { text: "On its way" },
  })),
  listChatCampaignReplies: ofChat(["chat.read"], (ids) => ({
    path: `${placeOf(ids)}/replies?limit=2&phone_number=919876543210&opted_out=false`,
  })),
  resendChatRecipient: ofChat(manage_campaigns, (ids) => ({
    path: `${placeOf(ids)}/recipients/${ids.recipient_id}/resend`,
    json: { may_duplicate: true },
  })),
  createSimulatedReply: ofChat(manage_campaigns, (ids) => ({
    path: `${placeOf(ids)}/recipients/${ids.recipient_id}/simulated-replies`,
    json: { text: "STOP" },
  })),
  sendChatTest: ofChat(create_campaigns, (ids) => ({
    path: `${account}/chat/campaigns/test`,
    json: {
      chat_number_id: ids.chat_number_id,
      template_id: ids.template_id,
      phone_number: "919876543210",
      variables: { "1": "Ann" },
    },
  })),
  createChatCampaign: ofChat(create_campaigns, (ids) => ({
    path: `${account}/chat/campaigns`,
    json: campaignOf(ids),
    headers: underKey()!,
  })),
  createChatCampaignFromCsv: ofChat(create_campaigns, (ids) => ({
    path: `${account}/chat/campaigns/csv`,
    form: campaignUploadOf(ids),
    headers: underKey()!,
  })),
  previewChatCampaignFromCsv: ofChat(create_campaigns, (ids) => ({
    path: `${account}/chat/campaigns/csv/preview`,
    form: campaignUploadOf(ids),
  })),
  createChatCampaignForGroup: ofChat(create_campaigns, (ids) => {
    const { contacts: _, ...head } = campaignOf(ids);
    return {
      path: `${account}/chat/campaigns/group`,
      json: { ...head, group_id: ids.group_id },
      headers: underKey()!,
    };
  }),
  previewChatCampaignForGroup: ofChat(create_campaigns, (ids) => {
    const { contacts: _, ...head } = campaignOf(ids);
    return {
      path: `${account}/chat/campaigns/group/preview`,
      json: { ...head, group_id: ids.group_id },
    };
  }),
  previewChatCampaign: ofChat(create_campaigns, (ids) => ({
    path: `${account}/chat/campaigns/preview`,
    json: campaignOf(ids),
  })),
};

function campaignUploadOf(ids: Ids): FormData {
  const form = new FormData();
  form.set("name", unique("campaign"));
  form.set("chat_number_id", String(ids.chat_number_id));
  form.set("template_id", String(ids.template_id));
  form.set("mm_lite", "true");
  form.set(
    "file",
    new Blob(["phone,1\n919812345678,Ann\n12,Bob\n"], { type: "text/csv" }),
    "c.csv",
  );
  return form;
}

const calls: Record<string, RouteRow> = {
  clickToCall: {
    features: ["calls"],
    may: "any_token",
    own_errors: true,
    request: (ids) => ({
      path: `${account}/clickToCallApis/clickToCall`,
      json: {
        to_number: "9876543210",
        from_number: "101",
        cli_number: "9000000000",
        to_group_id: String(ids.group_id),
        schedulled_at: "2099-01-31T09:30:00Z",
        reference: unique("reference"),
      },
    }),
  },
};

/** The rows by route ID. */
export const routeRows: ReadonlyMap<string, RouteRow> = new Map(
  Object.entries({
    ...accounts,
    ...workspaces,
    ...contacts,
    ...leads,
    ...imports,
    ...people,
    ...savedViews,
    ...audience,
    ...campaigns,
    ...chatRows,
    ...calls,
    ...callRows,
    ...voiceCampaignRows,
    ...voiceContentRows,
    ...voiceLaunchRows,
    ...telephonyRows,
    ...reportRows,
    ...callbackRows,
    ...erasureRows,
  }),
);

/** Returns the names of the IDs in a row's request. */
export function idsUsedBy(row: RouteRow): (keyof Ids)[] {
  const used = new Set<keyof Ids>();
  const recorder = new Proxy(unknownIds, {
    get: (ids, name: keyof Ids) => {
      used.add(name);
      return ids[name];
    },
  });
  row.request(recorder);
  return [...used];
}
