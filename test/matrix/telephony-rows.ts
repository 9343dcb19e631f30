// The rows of routes for extensions and agent groups, and of the operator's routes for nodes and trunks.
import { unique } from "../support/account-factory.ts";
import type { RouteRow } from "./route-rows.ts";
import { freeExtension, freeNumber } from "./seed-telephony.ts";
import type { Ids } from "./seed-ids.ts";

const account = "/api/v1";

const see = (request: RouteRow["request"]): RouteRow => ({
  features: ["calls", "voice"],
  may: ["agents.read", "agents.manage"],
  request,
});
const manage = (request: RouteRow["request"]): RouteRow => ({
  features: ["calls", "voice"],
  may: ["agents.manage"],
  request,
});
const operate = (request: RouteRow["request"]): RouteRow => ({
  features: ["operator"],
  may: ["installation.manage"],
  installation: true,
  request,
});

const extensionOf = (ids: Ids) => `${account}/extensions/${ids.extension_id}`;
const groupOf = (ids: Ids) => `${account}/agent-groups/${ids.agent_group_id}`;
const memberOf = (ids: Ids) => `${groupOf(ids)}/members/${ids.agent_member_id}`;
const nodeOf = (ids: Ids) => `${account}/voice-nodes/${ids.voice_node_id}`;
const trunkOf = (ids: Ids) => `${account}/trunks/${ids.trunk_id}`;

const agents: Record<string, RouteRow> = {
  listExtensions: see(() => ({ path: `${account}/extensions?limit=2` })),
  createExtension: manage((ids) => ({
    path: `${account}/extensions`,
    json: {
      extension: freeExtension(),
      name: unique("phone"),
      user_id: ids.user_id,
      endpoint: "phone",
    },
  })),
  readExtension: see((ids) => ({ path: extensionOf(ids) })),
  updateExtension: manage((ids) => ({
    path: extensionOf(ids),
    json: { extension: freeExtension(), user_id: ids.user_id, endpoint: "phone", digit: null },
  })),
  deleteExtension: manage((ids) => ({ path: extensionOf(ids) })),
  listAgentGroups: see(() => ({ path: `${account}/agent-groups?limit=2` })),
  createAgentGroup: manage(() => ({
    path: `${account}/agent-groups`,
    json: { name: unique("agents") },
  })),
  readAgentGroup: see((ids) => ({ path: groupOf(ids) })),
  updateAgentGroup: manage((ids) => ({ path: groupOf(ids), json: { name: unique("agents") } })),
  deleteAgentGroup: manage((ids) => ({ path: groupOf(ids) })),
  listAgentGroupMembers: see((ids) => ({ path: `${groupOf(ids)}/members?limit=2` })),
  addAgentGroupMember: manage((ids) => ({
    path: `${groupOf(ids)}/members`,
    json: { number: freeExtension(), position: 1 },
  })),
  moveAgentGroupMember: manage((ids) => ({ path: memberOf(ids), json: { position: 2 } })),
  updateAgentAvailability: manage((ids) => ({
    path: `${account}/agent-availability/${ids.agent_number}`,
    json: { away: true },
  })),
  updateOwnAvailability: {
    features: null,
    may: "any_token",
    request: () => ({ path: `${account}/me/availability`, json: { away: false } }),
  },
  listAgentNumbers: see(() => ({ path: `${account}/agent-numbers?limit=2` })),
  addAgentNumber: manage(() => ({
    path: `${account}/agent-numbers`,
    json: { number: freeNumber() },
  })),
  removeAgentNumber: manage((ids) => ({ path: `${account}/agent-numbers/${ids.agent_number}` })),
  listPhoneNumbers: see(() => ({ path: `${account}/phone-numbers?limit=2` })),
  readPhoneNumber: see((ids) => ({ path: `${account}/phone-numbers/${ids.owned_number}` })),
  routePhoneNumber: manage((ids) => ({
    path: `${account}/phone-numbers/${ids.owned_number}`,
    json: { agent_group_id: ids.agent_group_id },
  })),
  removeAgentGroupMember: manage((ids) => ({ path: memberOf(ids) })),
};

const load = { calls_per_second: 10, calls_max: 100 };

const operator: Record<string, RouteRow> = {
  listWhatsappCredentials: operate(() => ({ path: `${account}/whatsapp-credentials?limit=2` })),
  updateWhatsappCredential: operate((ids) => ({
    path: `${account}/whatsapp-credentials/${ids.account_id}`,
    json: { access_token: unique("token"), app_secret: "secret", verify_token: "verify" },
  })),
  deleteWhatsappCredential: operate((ids) => ({
    path: `${account}/whatsapp-credentials/${ids.account_id}`,
  })),
  listVoiceNodes: operate(() => ({ path: `${account}/voice-nodes?limit=2` })),
  createVoiceNode: operate(() => ({
    path: `${account}/voice-nodes`,
    json: {
      name: unique("asterisk"),
      driver: "asterisk",
      ari: { url: "http://127.0.0.1:1/ari", user: "u", password: "p", app: unique("app") },
      cdr_path: "/var/log/asterisk/cdr-csv/Master.csv",
      sounds_dir: "/var/lib/trunkline/sounds",
      ...load,
      active: false,
    },
  })),
  readVoiceNode: operate((ids) => ({ path: nodeOf(ids) })),
  updateVoiceNode: operate((ids) => ({
    path: nodeOf(ids),
    json: { name: unique("sandbox"), ...load, active: false },
  })),
  deleteVoiceNode: operate((ids) => ({ path: nodeOf(ids) })),
  listTrunks: operate(() => ({ path: `${account}/trunks?limit=2` })),
  createTrunk: operate((ids) => ({
    path: `${account}/trunks`,
    json: {
      name: unique("carrier"),
      endpoint: "carrier",
      number_format: "national",
      number_prefix: "0",
      caller_ids: ["9000000000"],
      caller_ids_only: true,
      active: false,
      nodes: [{ node_id: ids.voice_node_id, ...load }],
    },
  })),
  readTrunk: operate((ids) => ({ path: trunkOf(ids) })),
  updateTrunk: operate((ids) => ({
    path: trunkOf(ids),
    json: {
      name: unique("carrier"),
      active: false,
      nodes: [{ node_id: ids.voice_node_id, ...load }],
    },
  })),
  deleteTrunk: operate((ids) => ({ path: trunkOf(ids) })),
  listNumberAssignments: operate(() => ({ path: `${account}/number-assignments?limit=2` })),
  assignPhoneNumber: operate((ids) => ({
    path: `${account}/number-assignments`,
    json: { number: freeNumber(), account_id: ids.account_id },
  })),
  unassignPhoneNumber: operate((ids) => ({
    path: `${account}/number-assignments/${ids.owned_number}`,
  })),
};

export const telephonyRows: Record<string, RouteRow> = { ...agents, ...operator };
