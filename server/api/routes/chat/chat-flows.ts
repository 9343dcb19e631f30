import Type from "typebox";
import { createFlow } from "../../../chat/flows/create-flow.ts";
import { deleteFlow } from "../../../chat/flows/delete-flow.ts";
import {
  ChatFlowResponse,
  FlowPatch,
  validateFlow,
  NewFlow,
} from "../../../chat/flows/flow-schema.ts";
import { findFlow, listFlows } from "../../../chat/flows/flows.ts";
import { updateFlow } from "../../../chat/flows/update-flow.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageChat, seeChat } from "./chat-holds.ts";

const flows = "/api/v1/chat/flows";
const flowParams = closed({ id: pathId("The flow") });
const tag = "Chat flows";

export const chatFlowRoutes = [
  route({
    method: "GET",
    url: flows,
    id: "listChatFlows",
    summary: "List chat flows",
    tag,
    access: seeChat,
    query: closed(pageQuery),
    success: { 200: pageOf(ChatFlowResponse) },
    handle: ({ app, caller, query }) =>
      listFlows(app.db.query, "chat_flows", caller.account.id, query),
  }),
  route({
    method: "POST",
    url: flows,
    id: "createChatFlow",
    summary: "Create a chat flow",
    tag,
    access: manageChat,
    body: NewFlow,
    success: { 201: ChatFlowResponse },
    validate: ({ body }) => validateFlow(body),
    handle: ({ app, actor, body, write }) =>
      write((tx) => createFlow(tx, actor, "chat_flows", body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: `${flows}/:id`,
    id: "readChatFlow",
    summary: "Read a chat flow",
    tag,
    access: seeChat,
    params: flowParams,
    success: { 200: ChatFlowResponse },
    handle: ({ app, caller, params }) =>
      findFlow(app.db.query, "chat_flows", caller.account.id, params.id),
  }),
  route({
    method: "PATCH",
    url: `${flows}/:id`,
    id: "updateChatFlow",
    summary: "Update a chat flow",
    tag,
    access: manageChat,
    params: flowParams,
    body: FlowPatch,
    success: { 200: ChatFlowResponse },
    validate: ({ body }) => validateFlow(body),
    handle: ({ app, actor, params: { id }, body, write }) =>
      write((tx) => updateFlow(tx, actor, { kind: "chat_flows", id }, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${flows}/:id`,
    id: "deleteChatFlow",
    summary: "Delete a chat flow; existing campaigns keep their message",
    tag,
    access: manageChat,
    params: flowParams,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteFlow(tx, actor, { kind: "chat_flows", id }, app.clock.now()));
    },
  }),
];
