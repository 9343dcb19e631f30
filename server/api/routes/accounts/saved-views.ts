import Type from "typebox";
import {
  NewSavedView,
  SavedViewPatch,
  savedViewQuery,
  SavedViewResponse,
  validateSavedView,
} from "../../../accounts/saved-views/saved-view-schema.ts";
import {
  createSavedView,
  deleteSavedView,
  listSavedViews,
  updateSavedView,
} from "../../../accounts/saved-views/saved-views.ts";
import { closed, pageOf, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";

const tag = "Saved views";
/** A view shows nothing by itself: the list that it filters checks the permission. */
const access = { anyOf: "any_token" } as const;
const params = closed({ id: pathId("The view") });

export const savedViewRoutes = [
  route({
    method: "GET",
    url: "/api/v1/saved-views",
    id: "listSavedViews",
    summary: "List the user's saved views and those shared in the account",
    tag,
    access,
    query: closed(savedViewQuery),
    success: { 200: pageOf(SavedViewResponse) },
    handle: ({ app, actor, query: { limit = 50, cursor, page } }) =>
      listSavedViews(app.db.query, actor, { page }, { limit, cursor }),
  }),
  route({
    method: "POST",
    url: "/api/v1/saved-views",
    id: "createSavedView",
    is_own: true,
    summary: "Save the filters and columns of a list under a name",
    tag,
    access,
    body: NewSavedView,
    success: { 201: SavedViewResponse },
    validate: ({ body }) => validateSavedView(body),
    handle: ({ app, actor, body, write }) =>
      write((tx) => createSavedView(tx, actor, body, app.clock.now())),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/saved-views/:id",
    id: "updateSavedView",
    is_own: true,
    summary: "Change a saved view, the own one or one that is shared",
    tag,
    access,
    params,
    body: SavedViewPatch,
    success: { 200: SavedViewResponse },
    validate: ({ body }) => validateSavedView(body),
    handle: ({ app, actor, params: { id }, body, write }) =>
      write((tx) => updateSavedView(tx, actor, id, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: "/api/v1/saved-views/:id",
    id: "deleteSavedView",
    is_own: true,
    summary: "Delete a saved view, the own one or one that is shared",
    tag,
    access,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteSavedView(tx, actor, id, app.clock.now()));
    },
  }),
];
