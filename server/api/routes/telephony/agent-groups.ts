import Type from "typebox";
import { addAgentGroupMember } from "../../../telephony/agent-groups/add-agent-group-member.ts";
import { listAgentGroupMembers } from "../../../telephony/agent-groups/agent-group-members.ts";
import {
  AgentGroupResponse,
  AgentGroupPatch,
  AgentMemberResponse,
  AgentMemberPatch,
  validateNewAgentMember,
  NewAgentGroup,
  NewAgentMember,
} from "../../../telephony/agent-groups/agent-group-schema.ts";
import { listAgentGroups, readAgentGroup } from "../../../telephony/agent-groups/agent-groups.ts";
import { createAgentGroup } from "../../../telephony/agent-groups/create-agent-group.ts";
import { deleteAgentGroup } from "../../../telephony/agent-groups/delete-agent-group.ts";
import { moveAgentGroupMember } from "../../../telephony/agent-groups/move-agent-group-member.ts";
import { removeAgentGroupMember } from "../../../telephony/agent-groups/remove-agent-group-member.ts";
import { updateAgentGroup } from "../../../telephony/agent-groups/update-agent-group.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageAgents, seeAgents } from "./extensions.ts";

const groups = "/api/v1/agent-groups";
const id = pathId("The agent group");
const params = closed({ id });
const memberParams = closed({ id, memberId: pathId("The member") });
const tag = "Agent groups";

export const agentGroupRoutes = [
  route({
    method: "GET",
    url: groups,
    id: "listAgentGroups",
    summary: "List agent groups with their counts",
    tag,
    access: seeAgents,
    query: closed(pageQuery),
    success: { 200: pageOf(AgentGroupResponse) },
    handle: ({ app, caller, query }) => listAgentGroups(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: groups,
    id: "createAgentGroup",
    summary: "Create an agent group",
    tag,
    access: manageAgents,
    body: NewAgentGroup,
    success: { 201: AgentGroupResponse },
    handle: ({ app, actor, body, write }) =>
      write((tx) => createAgentGroup(tx, actor, body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: `${groups}/:id`,
    id: "readAgentGroup",
    summary: "Read an agent group with its count",
    tag,
    access: seeAgents,
    params,
    success: { 200: AgentGroupResponse },
    handle: ({ app, caller, params: at }) => readAgentGroup(app.db.query, caller.account.id, at.id),
  }),
  route({
    method: "PATCH",
    url: `${groups}/:id`,
    id: "updateAgentGroup",
    locks: "agent_groups",
    summary: "Rename an agent group",
    tag,
    access: manageAgents,
    params,
    body: AgentGroupPatch,
    success: { 200: AgentGroupResponse },
    handle: ({ app, actor, params: at, body, write }) =>
      write((tx) => updateAgentGroup(tx, actor, at.id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${groups}/:id`,
    id: "deleteAgentGroup",
    locks: "agent_groups",
    summary: "Delete an agent group; calls that name it ring no agent",
    tag,
    access: manageAgents,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: at, write }) => {
      await write((tx) => deleteAgentGroup(tx, actor, at.id, app.clock.now()));
    },
  }),
  route({
    method: "GET",
    url: `${groups}/:id/members`,
    id: "listAgentGroupMembers",
    summary: "List the members of an agent group in ring order, with their availability",
    tag,
    access: seeAgents,
    params,
    query: closed(pageQuery),
    success: { 200: pageOf(AgentMemberResponse) },
    handle: ({ app, caller, params: at, query }) =>
      listAgentGroupMembers(app.db.query, caller.account.id, at.id, query),
  }),
  route({
    method: "POST",
    url: `${groups}/:id/members`,
    id: "addAgentGroupMember",
    locks: "agent_groups",
    summary: "Add an extension or a phone to an agent group",
    tag,
    access: manageAgents,
    params,
    body: NewAgentMember,
    success: { 201: AgentMemberResponse },
    validate: ({ caller, body }) => validateNewAgentMember(body, caller.account.country_code),
    handle: ({ app, caller, actor, params: at, body, write }) =>
      write((tx) => {
        const { country_code } = caller.account;
        return addAgentGroupMember(tx, actor, { ...at, country_code }, body, app.clock.now());
      }),
  }),
  route({
    method: "PATCH",
    url: `${groups}/:id/members/:memberId`,
    id: "moveAgentGroupMember",
    locks: "agent_groups",
    summary: "Move a member to another position in its group",
    tag,
    access: manageAgents,
    params: memberParams,
    body: AgentMemberPatch,
    success: { 200: AgentMemberResponse },
    handle: ({ app, actor, params: at, body, write }) => {
      const place = { group_id: at.id, member_id: at.memberId, position: body.position };
      return write((tx) => moveAgentGroupMember(tx, actor, place, app.clock.now()));
    },
  }),
  route({
    method: "DELETE",
    url: `${groups}/:id/members/:memberId`,
    id: "removeAgentGroupMember",
    locks: "agent_groups",
    summary: "Remove a member from an agent group",
    tag,
    access: manageAgents,
    params: memberParams,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: at, write }) => {
      const place = { group_id: at.id, member_id: at.memberId };
      await write((tx) => removeAgentGroupMember(tx, actor, place, app.clock.now()));
    },
  }),
];
