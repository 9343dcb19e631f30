import Type from "typebox";
import {
  ChatNumberResponse,
  ChatNumberPatch,
  validateNewChatNumber,
  NewChatNumber,
} from "../../../chat/numbers/chat-number-schema.ts";
import { findChatNumber, listChatNumbers } from "../../../chat/numbers/chat-numbers.ts";
import { bindChatNumber } from "../../../chat/numbers/bind-chat-number.ts";
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
import type { Caller } from "../../../accounts/caller.ts";
import { Refusal } from "../../../lib/errors.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { receiveUpload } from "../../bodies/receive-upload.ts";
import { route } from "../../route.ts";
import { mayOperate } from "../shared/may-operate.ts";
import { manageChat, seeChat } from "./chat-holds.ts";

const numbers = "/api/v1/chat/numbers";
const numberParams = closed({ id: pathId("The number") });
const tag = "Chat numbers";

/**
 * Refuses forbidden: a provider's access token may reach the numbers of many businesses, so only an operator
 * decides which account gets which number.
 */
function refuseUnlessOperator(caller: Caller, body: unknown): void {
  const { driver, account_id } = (body ?? {}) as { driver?: unknown; account_id?: unknown };
  const isOwnSandbox =
    driver !== "whatsapp" && (account_id ?? caller.account.id) === caller.account.id;
  if (isOwnSandbox || mayOperate(caller)) return;
  throw new Refusal(
    "forbidden",
    "Only an operator adds WhatsApp numbers, and numbers of other accounts; ask the operator of this server",
  );
}

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
    summary: "Add a chat number; only operators add numbers of WhatsApp",
    tag,
    access: manageChat,
    body: NewChatNumber,
    success: { 201: ChatNumberResponse },
    precheck: async ({ caller, body }) => refuseUnlessOperator(caller, body),
    validate: ({ body }) => validateNewChatNumber(body),
    handle: async ({ app, actor, body: { account_id, ...number }, write }) => {
      const owner = account_id ?? actor.account_id;
      const created = await write((tx) =>
        bindChatNumber(tx, actor, owner, number, app.clock.now()),
      );
      notifyJob(app, owner);
      return created;
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
    handle: ({ app, caller, actor, params, request, reauthorize }) => {
      const parts = { file: "file", fields: [], file_bytes_max: media_bytes_max };
      return receiveUpload(caller.account.id, request, parts, async ({ file }) => {
        // The file may have arrived long after its token was checked.
        await reauthorize();
        return uploadChatMedia(app, actor, params.id, file);
      });
    },
  }),
];
