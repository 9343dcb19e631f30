import Type from "typebox";
import { createTrunk } from "../../../telephony/trunks/create-trunk.ts";
import { deleteTrunk } from "../../../telephony/trunks/delete-trunk.ts";
import type { MovedCalls } from "../../../telephony/nodes/move-queued-calls.ts";
import {
  validateTrunkNodes,
  NewTrunk,
  TrunkResponse,
  TrunkPatch,
} from "../../../telephony/trunks/trunk-schema.ts";
import { listTrunks, readTrunk } from "../../../telephony/trunks/trunks.ts";
import { updateTrunk } from "../../../telephony/trunks/update-trunk.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { notifyVoiceNodes, operate } from "./voice-nodes.ts";

const trunks = "/api/v1/trunks";
const params = closed({ id: pathId("The trunk") });
const tag = "Trunks";

export const trunkRoutes = [
  route({
    method: "GET",
    url: trunks,
    id: "listTrunks",
    summary: "List trunks",
    tag,
    access: operate,
    query: closed(pageQuery),
    success: { 200: pageOf(TrunkResponse) },
    handle: ({ app, query }) => listTrunks(app.db.query, query),
  }),
  route({
    method: "POST",
    url: trunks,
    id: "createTrunk",
    summary: "Add a trunk",
    tag,
    access: operate,
    body: NewTrunk,
    success: { 201: TrunkResponse },
    validate: ({ body }) => validateTrunkNodes(body),
    handle: async ({ app, actor, body, write }) => {
      const trunk = await write((tx) => createTrunk(tx, actor, body, app.clock.now()));
      notifyVoiceNodes(
        app,
        trunk.nodes.map(({ node_id }) => node_id),
      );
      return trunk;
    },
  }),
  route({
    method: "GET",
    url: `${trunks}/:id`,
    id: "readTrunk",
    summary: "Read a trunk and its nodes",
    tag,
    access: operate,
    params,
    success: { 200: TrunkResponse },
    handle: ({ app, params: { id } }) => readTrunk(app.db.query, id),
  }),
  route({
    method: "PATCH",
    url: `${trunks}/:id`,
    id: "updateTrunk",
    summary: "Update a trunk, or deactivate it",
    tag,
    access: operate,
    params,
    body: TrunkPatch,
    success: { 200: TrunkResponse },
    validate: ({ body }) => validateTrunkNodes(body),
    handle: async ({ app, actor, params: { id }, body, write }) => {
      let affected: { nodes: readonly number[]; moved: MovedCalls } = { nodes: [], moved: [] };
      const trunk = await write(async (tx) => {
        const updated = await updateTrunk(tx, actor, id, body, app.clock.now());
        affected = updated;
        return updated.trunk;
      });
      notifyVoiceNodes(app, affected.nodes, affected.moved);
      return trunk;
    },
  }),
  route({
    method: "DELETE",
    url: `${trunks}/:id`,
    id: "deleteTrunk",
    summary: "Delete a trunk without queued or live calls",
    tag,
    access: operate,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      let nodes: readonly number[] = [];
      await write(async (tx) => {
        nodes = await deleteTrunk(tx, actor, id, app.clock.now());
      });
      notifyVoiceNodes(app, nodes);
    },
  }),
];
