import Type from "typebox";
import { createVoiceNode } from "../../../telephony/nodes/create-voice-node.ts";
import { deleteVoiceNode } from "../../../telephony/nodes/delete-voice-node.ts";
import type { MovedCalls } from "../../../telephony/nodes/move-queued-calls.ts";
import { updateVoiceNode } from "../../../telephony/nodes/update-voice-node.ts";
import {
  validateAriUrl,
  validateNewVoiceNode,
  NewVoiceNode,
  VoiceNodeResponse,
  VoiceNodePatch,
} from "../../../telephony/nodes/voice-node-schema.ts";
import { listVoiceNodes, readVoiceNode } from "../../../telephony/nodes/voice-nodes.ts";
import type { App } from "../../../engine/app.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access } from "../../route.ts";

/** Nodes and trunks serve every account: only operators may see them. */
export const operate: Access = { features: ["operator"], anyOf: ["installation.manage"] };

const nodes = "/api/v1/voice-nodes";
const params = closed({ id: pathId("The node") });
const tag = "Voice nodes";

export const voiceNodeRoutes = [
  route({
    method: "GET",
    url: nodes,
    id: "listVoiceNodes",
    summary: "List voice nodes",
    tag,
    access: operate,
    query: closed(pageQuery),
    success: { 200: pageOf(VoiceNodeResponse) },
    handle: ({ app, query }) => listVoiceNodes(app.db.query, query),
  }),
  route({
    method: "POST",
    url: nodes,
    id: "createVoiceNode",
    summary: "Add a voice node",
    tag,
    access: operate,
    body: NewVoiceNode,
    success: { 201: VoiceNodeResponse },
    validate: ({ body }) => validateNewVoiceNode(body),
    handle: ({ app, actor, body, write }) =>
      write((tx) => createVoiceNode(tx, actor, body, app.clock.now(), app.secrets)),
  }),
  route({
    method: "GET",
    url: `${nodes}/:id`,
    id: "readVoiceNode",
    summary: "Read a voice node and its connection status",
    tag,
    access: operate,
    params,
    success: { 200: VoiceNodeResponse },
    handle: ({ app, params: { id } }) => readVoiceNode(app.db.query, id),
  }),
  route({
    method: "PATCH",
    url: `${nodes}/:id`,
    id: "updateVoiceNode",
    summary: "Update a voice node, or deactivate it",
    description:
      "A node keeps its ARI application while it has live calls or recordings that are not deleted.",
    tag,
    access: operate,
    params,
    body: VoiceNodePatch,
    success: { 200: VoiceNodeResponse },
    validate: ({ body }) => validateAriUrl(body),
    handle: async ({ app, actor, params: { id }, body, write }) => {
      let moved: MovedCalls = [];
      const node = await write(async (tx) => {
        const updated = await updateVoiceNode(tx, actor, id, body, {
          now: app.clock.now(),
          secrets: app.secrets,
        });
        moved = updated.moved;
        return updated.node;
      });
      notifyVoiceNodes(app, [id], moved);
      return node;
    },
  }),
  route({
    method: "DELETE",
    url: `${nodes}/:id`,
    id: "deleteVoiceNode",
    summary: "Delete a voice node without queued or live calls",
    description:
      "A node that has placed calls must be inactive. Its recordings count as deleted and can no longer be played.",
    tag,
    access: operate,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteVoiceNode(tx, actor, id, app.clock.now()));
      notifyVoiceNodes(app, [id]);
    },
  }),
];

/** Notifies the leaders of changed nodes, and of nodes that calls were moved to. */
export function notifyVoiceNodes(
  app: Pick<App, "notifications">,
  nodeIds: readonly number[],
  moved: MovedCalls = [],
): void {
  for (const nodeId of nodeIds) app.notifications.send("call_work", `${nodeId}:0`);
  for (const { node_id, account_id } of moved)
    app.notifications.send("call_work", `${node_id}:${account_id}`);
}
