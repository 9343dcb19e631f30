import Type from "typebox";
import { createMenu, validateNewMenu } from "../../../voice/menus/create-menu.ts";
import { deleteMenu } from "../../../voice/menus/delete-menu.ts";
import { MenuResponse, MenuPatch, NewMenu } from "../../../voice/menus/menu-schema.ts";
import { listMenus, readMenu } from "../../../voice/menus/menus.ts";
import {
  MenuTrialInput,
  MenuTrialResponse,
  previewMenu,
} from "../../../voice/menus/preview-menu.ts";
import { validateMenuPatch, updateMenu } from "../../../voice/menus/update-menu.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageContent, seeContent } from "./voice-files.ts";

const menus = "/api/v1/voice/menus";
const params = closed({ id: pathId("The menu") });
const tag = "Voice";

export const voiceMenuRoutes = [
  route({
    method: "GET",
    url: menus,
    id: "listVoiceMenus",
    summary: "List menus",
    tag,
    access: seeContent,
    query: closed(pageQuery),
    success: { 200: pageOf(MenuResponse) },
    handle: ({ app, caller, query }) => listMenus(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: menus,
    id: "createVoiceMenu",
    summary: "Create a menu",
    tag,
    access: manageContent,
    body: NewMenu,
    success: { 201: MenuResponse },
    validate: ({ app, caller, body }) => validateNewMenu(app.db.query, caller.account.id, body),
    handle: ({ app, actor, body, write }) =>
      write((tx) => createMenu(tx, actor, body, app.clock.now())),
  }),
  route({
    method: "POST",
    url: `${menus}/preview`,
    id: "previewVoiceMenu",
    summary: "Walk through a menu, saved or not, as a caller with these keys would",
    tag,
    access: seeContent,
    body: MenuTrialInput,
    success: { 200: MenuTrialResponse },
    validate: ({ app, caller, body }) => validateNewMenu(app.db.query, caller.account.id, body),
    handle: async ({ app, body }) => previewMenu(body, app.clock.now()),
  }),
  route({
    method: "GET",
    url: `${menus}/:id`,
    id: "readVoiceMenu",
    summary: "Read a menu",
    tag,
    access: seeContent,
    params,
    success: { 200: MenuResponse },
    handle: ({ app, caller, params: { id } }) => readMenu(app.db.query, caller.account.id, id),
  }),
  route({
    method: "PATCH",
    url: `${menus}/:id`,
    id: "updateVoiceMenu",
    summary: "Update a menu; applies to incoming calls and to campaigns launched from now on",
    tag,
    access: manageContent,
    params,
    body: MenuPatch,
    success: { 200: MenuResponse },
    validate: ({ app, caller, params: { id }, body }) =>
      validateMenuPatch(app.db.query, caller.account.id, id, body),
    handle: ({ app, actor, params: { id }, body, write }) =>
      write((tx) => updateMenu(tx, actor, id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${menus}/:id`,
    id: "deleteVoiceMenu",
    summary: "Delete a menu that no voice file uses",
    tag,
    access: manageContent,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteMenu(tx, actor, id, app.clock.now()));
    },
  }),
];
