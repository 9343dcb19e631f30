import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { keepTemplate, submitTemplate } from "../../../chat/templates/create-template.ts";
import { deleteAtProvider, deleteTemplates } from "../../../chat/templates/delete-template.ts";
import { validateNewTemplate } from "../../../chat/templates/validate-template.ts";
import {
  syncNumberTemplates,
  TemplateSync,
  TemplateSyncResponse,
} from "../../../chat/templates/sync-number-templates.ts";
import { findTemplate, listTemplates } from "../../../chat/templates/templates.ts";
import {
  NewTemplate,
  template_categories,
  template_statuses,
  TemplateResponse,
  TemplatePatch,
} from "../../../chat/templates/template-schema.ts";
import { updateTemplate } from "../../../chat/templates/update-template.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageChat, seeChat } from "./chat-holds.ts";

const templates = "/api/v1/chat/templates";
const templateParams = closed({ id: pathId("The template") });
const tag = "Chat templates";

export const chatTemplateRoutes = [
  route({
    method: "GET",
    url: templates,
    id: "listChatTemplates",
    summary: "List templates",
    tag,
    access: seeChat,
    query: closed({
      status: Type.Optional(Type.Enum(template_statuses, { type: "string" })),
      category: Type.Optional(Type.Enum(template_categories, { type: "string" })),
      language: Type.Optional(Type.String({ maxLength: 20 })),
      q: Type.Optional(Type.String({ maxLength: 512, description: "Part of the name" })),
      ...pageQuery,
    }),
    success: { 200: pageOf(TemplateResponse) },
    handle: ({ app, caller, query: { limit = 50, cursor, ...filter } }) =>
      searchOn({ limit, cursor }, (at) =>
        listTemplates(app.db.query, caller.account.id, filter, at),
      ),
  }),
  route({
    method: "POST",
    url: templates,
    id: "createChatTemplate",
    summary: "Submit a template for the provider's approval",
    tag,
    access: manageChat,
    body: NewTemplate,
    success: { 201: TemplateResponse },
    validate: ({ body }) => validateNewTemplate(body),
    handle: async ({ app, caller, actor, body, write }) => {
      const submitted = await submitTemplate(app, caller.account.id, body);
      return write((tx) => keepTemplate(tx, actor, submitted, app.clock.now()));
    },
  }),
  route({
    method: "POST",
    url: `${templates}/sync`,
    id: "syncChatTemplates",
    takes_no_key: true,
    summary: "Fetch the templates of a business account from the provider",
    tag,
    access: manageChat,
    body: TemplateSync,
    success: { 200: TemplateSyncResponse },
    handle: ({ app, caller, body }) => syncNumberTemplates(app, caller.account.id, body),
  }),
  route({
    method: "GET",
    url: `${templates}/:id`,
    id: "readChatTemplate",
    summary: "Read a template and its variables",
    tag,
    access: seeChat,
    params: templateParams,
    success: { 200: TemplateResponse },
    handle: ({ app, caller, params }) => findTemplate(app.db.query, caller.account.id, params.id),
  }),
  route({
    method: "PATCH",
    url: `${templates}/:id`,
    id: "updateChatTemplate",
    summary: "Change a template's defaults and media",
    tag,
    access: manageChat,
    params: templateParams,
    body: TemplatePatch,
    success: { 200: TemplateResponse },
    handle: ({ app, actor, params, body, write }) =>
      write((tx) => updateTemplate(tx, actor, params.id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${templates}/:id`,
    id: "deleteChatTemplate",
    summary: "Delete a template in all its languages, also at the provider",
    tag,
    access: manageChat,
    params: templateParams,
    success: { 204: Type.Null() },
    handle: async ({ app, caller, actor, params, write }) => {
      const deleted = await deleteAtProvider(app, caller.account.id, params.id);
      await write((tx) => deleteTemplates(tx, actor, deleted, app.clock.now()));
    },
  }),
];
