import Type from "typebox";
import {
  ChatNumberResponse,
  ChatNumberPatch,
  validateNewChatNumber,
  NewChatNumber,
} from "../../../chat/numbers/chat-number-schema.ts";
import { findChatNumber, listChatNumbers } from "../../../chat/numbers/chat-numbers.ts";
import { createChatNumber } from "../../../chat/numbers/create-chat-number.ts";
import { deleteChatNumber } from "../../../chat/numbers/delete-chat-number.ts";
import { wakeSenders } from "../../../chat/numbers/wake-senders.ts";
import { askForNumber, recordNumberState } from "../../../chat/numbers/sync-chat-number.ts";
import { updateChatNumber } from "../../../chat/numbers/update-chat-number.ts";
import {
  ChatMediaResponse,
  ChatMediaUpload,
  media_bytes_max,
  uploadChatMedia,
} from "../../../chat/numbers/upload-chat-media.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { receiveUpload } from "../../bodies/receive-upload.ts";
import { route } from "../../route.ts";
import { manageChat, seeChat } from "./chat-holds.ts";

const numbers = "/api/v1/chat/numbers";
const numberParams = closed({ id: pathId("The number") });
const tag = "Chat numbers";

export const chatNumberRoutes = [
  route({
    method: "GET",
    url: numbers,
    id: "listChatNumbers",
    summary: "List chat numbers",
    tag,
    access: seeChat,
    query: closed(pageQuery),
    success: { 200: pageOf(ChatNumberResponse) },
    handle: ({ app, caller, query }) => listChatNumbers(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: numbers,
    id: "createChatNumber",
    summary: "Add a chat number",
    tag,
    access: manageChat,
    body: NewChatNumber,
    success: { 201: ChatNumberResponse },
    validate: ({ body }) => validateNewChatNumber(body),
    handle: async ({ app, caller, actor, body, write }) => {
      const number = await write((tx) => createChatNumber(tx, actor, body, app.clock.now()));
      notifyJob(app, caller.account.id);
      return number;
    },
  }),
  route({
    method: "GET",
    url: `${numbers}/:id`,
    id: "readChatNumber",
    summary: "Read a chat number and its holds",
    tag,
    access: seeChat,
    params: numberParams,
    success: { 200: ChatNumberResponse },
    handle: ({ app, caller, params }) => findChatNumber(app.db.query, caller.account.id, params.id),
  }),
  route({
    method: "PATCH",
    url: `${numbers}/:id`,
    id: "updateChatNumber",
    summary: "Update a chat number, or deactivate it",
    tag,
    access: manageChat,
    params: numberParams,
    body: ChatNumberPatch,
    success: { 200: ChatNumberResponse },
    handle: async ({ app, caller, actor, params, body, write }) => {
      const number = await write((tx) =>
        updateChatNumber(tx, actor, params.id, body, app.clock.now()),
      );
      wakeSenders(app, caller.account.id, [params.id]);
      return number;
    },
  }),
  route({
    method: "DELETE",
    url: `${numbers}/:id`,
    id: "deleteChatNumber",
    summary: "Delete a chat number without campaigns",
    tag,
    access: manageChat,
    params: numberParams,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params, write }) => {
      await write((tx) => deleteChatNumber(tx, actor, params.id, app.clock.now()));
    },
  }),
  route({
    method: "POST",
    url: `${numbers}/:id/sync`,
    id: "syncChatNumber",
    summary: "Refresh a chat number's quality and marketing route from the provider",
    tag,
    access: manageChat,
    params: numberParams,
    success: { 200: ChatNumberResponse },
    handle: async ({ app, caller, actor, params, write }) => {
      const state = await askForNumber(app, caller.account.id, params.id);
      return write((tx) => recordNumberState(tx, actor, params.id, state, app.clock.now()));
    },
  }),
  route({
    method: "POST",
    url: `${numbers}/:id/media`,
    id: "uploadChatMedia",
    summary: "Upload a file for a template's header",
    tag,
    access: manageChat,
    params: numberParams,
    multipart: true,
    body: ChatMediaUpload,
    success: { 201: ChatMediaResponse },
    precheck: ({ app, caller, params }) =>
      findChatNumber(app.db.query, caller.account.id, params.id),
    handle: ({ app, caller, actor, params, request }) => {
      const parts = { file: "file", fields: [], file_bytes_max: media_bytes_max };
      return receiveUpload(caller.account.id, request, parts, ({ file }) =>
        uploadChatMedia(app, actor, params.id, file),
      );
    },
  }),
];
