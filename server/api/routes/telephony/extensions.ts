import Type from "typebox";
import { createExtension } from "../../../telephony/extensions/create-extension.ts";
import { deleteExtension } from "../../../telephony/extensions/delete-extension.ts";
import {
  ExtensionResponse,
  ExtensionPatch,
  NewExtension,
} from "../../../telephony/extensions/extension-schema.ts";
import { listExtensions, readExtension } from "../../../telephony/extensions/extensions.ts";
import { updateExtension } from "../../../telephony/extensions/update-extension.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";

const features = ["calls", "voice"] as const;
export const seeAgents: Access = { features, anyOf: ["agents.read", "agents.manage"] };
export const manageAgents: Access = { features, anyOf: ["agents.manage"] };

const extensions = "/api/v1/extensions";
const params = closed({ id: pathId("The extension") });
const tag = "Extensions";

export const extensionRoutes = [
  route({
    method: "GET",
    url: extensions,
    id: "listExtensions",
    summary: "List extensions",
    tag,
    access: seeAgents,
    query: closed(pageQuery),
    success: { 200: pageOf(ExtensionResponse) },
    handle: ({ app, caller, query }) => listExtensions(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: extensions,
    id: "createExtension",
    summary: "Add an extension",
    tag,
    access: manageAgents,
    body: NewExtension,
    success: { 201: ExtensionResponse },
    handle: ({ app, caller: { account }, actor, body, write }) =>
      write((tx) => createExtension(tx, { account, actor }, body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: `${extensions}/:id`,
    id: "readExtension",
    summary: "Read an extension",
    tag,
    access: seeAgents,
    params,
    success: { 200: ExtensionResponse },
    handle: ({ app, caller, params: { id } }) => readExtension(app.db.query, caller.account.id, id),
  }),
  route({
    method: "PATCH",
    url: `${extensions}/:id`,
    id: "updateExtension",
    summary: "Change an extension; groups keep it under its new number",
    tag,
    access: manageAgents,
    params,
    body: ExtensionPatch,
    success: { 200: ExtensionResponse },
    handle: ({ app, caller: { account }, actor, params: { id }, body, write }) =>
      write((tx) => updateExtension(tx, { account, actor }, id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${extensions}/:id`,
    id: "deleteExtension",
    summary: "Delete an extension and remove it from every group",
    tag,
    access: manageAgents,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteExtension(tx, actor, id, app.clock.now()));
    },
  }),
];
