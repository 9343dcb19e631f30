import Type from "typebox";
import { wakeSenders } from "../../../chat/numbers/wake-senders.ts";
import { hold_scopes, HoldResponse } from "../../../chat/holds/holds.ts";
import { HoldToLift, liftHoldManually } from "../../../chat/holds/lift-hold-manually.ts";
import { listHolds } from "../../../chat/holds/list-holds.ts";
import { knownId } from "../../../lib/ids.ts";
import { closed, id, pageOf, pageQuery } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";

/** The access that reading numbers, templates, flows and holds requires. */
export const seeChat: Access = {
  features: ["bulk_chat"],
  anyOf: ["chat.read", "chat.campaigns.create", "chat.manage"],
};
/** The access that changing them requires. */
export const manageChat: Access = { features: ["bulk_chat"], anyOf: ["chat.manage"] };

export const chatHoldRoutes = [
  route({
    method: "GET",
    url: "/api/v1/chat/holds",
    id: "listChatHolds",
    summary: "List the holds that block messages",
    tag: "Chat holds",
    access: seeChat,
    query: closed({
      scope: Type.Optional(Type.Enum(hold_scopes, { type: "string" })),
      subject_id: Type.Optional(id("Id of a campaign, template or number")),
      ...pageQuery,
    }),
    success: { 200: pageOf(HoldResponse) },
    handle: ({ app, caller, query: { scope, subject_id, ...at } }) =>
      listHolds(
        app.db.query,
        caller.account.id,
        {
          ...(scope === undefined ? {} : { scope }),
          ...(subject_id === undefined ? {} : { subject_id: knownId(subject_id) }),
        },
        at,
      ),
  }),
  route({
    method: "POST",
    url: "/api/v1/chat/holds/lift",
    id: "liftChatHold",
    summary: "Lift a hold after its cause was resolved",
    tag: "Chat holds",
    access: manageChat,
    body: HoldToLift,
    success: { 204: Type.Null() },
    handle: async ({ app, caller, actor, body, write }) => {
      let numbers: readonly number[] = [];
      await write(async (tx) => {
        numbers = await liftHoldManually(tx, actor, body, app.clock.now());
      });
      wakeSenders(app, caller.account.id, numbers);
    },
  }),
];
