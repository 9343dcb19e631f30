import Type from "typebox";
import { addGroupMembers, validateMembers } from "../../../audience/groups/add-group-members.ts";
import { createGroup } from "../../../audience/groups/create-group.ts";
import { deleteGroup } from "../../../audience/groups/delete-group.ts";
import { listGroupMembers } from "../../../audience/groups/group-members.ts";
import {
  AddedMembers,
  GroupResponse,
  GroupPatch,
  MemberResponse,
  MemberImport,
  MemberUpload,
  NewGroup,
  NewMembers,
  memberQuery,
} from "../../../audience/groups/group-schema.ts";
import { findGroup, listGroups } from "../../../audience/groups/groups.ts";
import { importGroupMembers } from "../../../audience/groups/import-group-members.ts";
import { removeGroupMember } from "../../../audience/groups/remove-group-member.ts";
import { updateGroup } from "../../../audience/groups/update-group.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { notFound } from "../../../lib/errors.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { readPhoneQuery } from "../shared/phone-query.ts";
import { receiveUpload } from "../../bodies/receive-upload.ts";
import { route } from "../../route.ts";

const read = { anyOf: ["groups.read", "groups.manage"] } as const;
const manage = { anyOf: ["groups.manage"] } as const;
const groupId = pathId("The group");
const groupParams = closed({ id: groupId });
const memberParams = closed({ id: groupId, memberId: pathId("The member") });
const group = "/api/v1/groups/:id";
/** Enough for ten thousand members with a few variables each. */
const members_bytes_max = 4 * 1_048_576;

export const groupRoutes = [
  route({
    method: "GET",
    url: "/api/v1/groups",
    id: "listGroups",
    summary: "List groups with their counts, newest first",
    tag: "Groups",
    access: read,
    query: closed(pageQuery),
    success: { 200: pageOf(GroupResponse) },
    handle: ({ app, caller, query }) => listGroups(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: "/api/v1/groups",
    id: "createGroup",
    summary: "Create a group",
    tag: "Groups",
    access: manage,
    body: NewGroup,
    success: { 201: GroupResponse },
    handle: ({ app, actor, body, write }) =>
      write((tx) => createGroup(tx, actor, body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: group,
    id: "readGroup",
    summary: "Read a group with its count",
    tag: "Groups",
    access: read,
    params: groupParams,
    success: { 200: GroupResponse },
    handle: async ({ app, caller, params }) => {
      const found = await findGroup(app.db.query, caller.account.id, params.id);
      if (!found) throw notFound();
      return found;
    },
  }),
  route({
    method: "PATCH",
    url: group,
    id: "updateGroup",
    locks: "groups",
    summary: "Rename a group",
    tag: "Groups",
    access: manage,
    params: groupParams,
    body: GroupPatch,
    success: { 200: GroupResponse },
    handle: ({ app, actor, params, body, write }) =>
      write((tx) => updateGroup(tx, actor, params.id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: group,
    id: "deleteGroup",
    locks: "groups",
    summary: "Delete a group and its members",
    tag: "Groups",
    access: manage,
    params: groupParams,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params, write }) => {
      await write((tx) => deleteGroup(tx, actor, params.id, app.clock.now()));
      notifyJob(app, actor.account_id);
    },
  }),
  route({
    method: "GET",
    url: `${group}/members`,
    id: "listGroupMembers",
    from_replica: true,
    summary: "List the members of a group by phone",
    tag: "Groups",
    access: read,
    params: groupParams,
    query: closed(memberQuery),
    success: { 200: pageOf(MemberResponse) },
    handle: ({ app, caller, params, query: { phone_number, limit = 50, cursor } }) => {
      const phone = readPhoneQuery(phone_number, caller.account.country_code);
      return listGroupMembers(app.db.query, caller.account.id, params.id, {
        ...phone,
        limit,
        cursor,
      });
    },
  }),
  route({
    method: "POST",
    url: `${group}/members`,
    id: "addGroupMembers",
    locks: "groups",
    summary: "Add members to a group, or replace them",
    tag: "Groups",
    access: manage,
    params: groupParams,
    body: NewMembers,
    body_bytes_max: members_bytes_max,
    success: { 200: AddedMembers },
    validate: ({ caller, body }) => validateMembers(body, caller.account.country_code),
    handle: ({ app, caller, actor, params, body, write }) =>
      write((tx) => {
        const { country_code } = caller.account;
        return addGroupMembers(tx, actor, { id: params.id, country_code }, body, app.clock.now());
      }),
  }),
  route({
    method: "POST",
    url: `${group}/members/import`,
    id: "importGroupMembers",
    summary: "Import members of a group from a CSV file, or replace them",
    tag: "Groups",
    access: manage,
    params: groupParams,
    multipart: true,
    body: MemberUpload,
    success: { 200: MemberImport },
    handle: ({ app, caller, actor, params, request, reauthorize }) => {
      const columns = ["phone_number_column", "name_column"];
      const parts = { file: "file", fields: columns, is_csv: true } as const;
      const { country_code } = caller.account;
      return receiveUpload(caller.account.id, request, parts, ({ fields, file }) =>
        importGroupMembers(
          app,
          actor,
          { id: params.id, country_code },
          { fd: file?.fd ?? null, fields },
          reauthorize,
        ),
      );
    },
  }),
  route({
    method: "DELETE",
    url: `${group}/members/:memberId`,
    id: "removeGroupMember",
    locks: "groups",
    summary: "Remove a member from a group",
    tag: "Groups",
    access: manage,
    params: memberParams,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params, write }) => {
      const place = { group_id: params.id, member_id: params.memberId };
      await write((tx) => removeGroupMember(tx, actor, place, app.clock.now()));
    },
  }),
];
